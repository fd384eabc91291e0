(abstract_class_declaration name: (type_identifier) @name) @scope
(interface_declaration name: (type_identifier) @name) @scope
(enum_declaration name: (identifier) @name) @scope
(internal_module name: (_) @name) @scope
(module name: (_) @name) @scope
(type_alias_declaration name: (type_identifier) @name) @value
(function_signature name: (identifier) @name) @function
(method_signature name: (property_identifier) @name) @function
(abstract_method_signature name: (property_identifier) @name) @function

(type_identifier) @reference
