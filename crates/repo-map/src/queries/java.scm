(class_declaration name: (identifier) @name) @scope
(interface_declaration name: (identifier) @name) @scope
(enum_declaration name: (identifier) @name) @scope
(record_declaration name: (identifier) @name) @scope
(annotation_type_declaration name: (identifier) @name) @scope
(method_declaration name: (identifier) @name) @function

(type_identifier) @reference
(method_invocation name: (identifier) @reference)
(identifier) @capital
