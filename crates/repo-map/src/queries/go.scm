(type_spec name: (type_identifier) @name) @scope
(type_alias name: (type_identifier) @name) @value
(function_declaration name: (identifier) @name) @function
(method_declaration name: (field_identifier) @name) @function
(method_elem name: (field_identifier) @name) @function
(source_file (const_declaration (const_spec name: (identifier) @name) @value))
(source_file (var_declaration (var_spec name: (identifier) @name) @value))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @value)))

(type_identifier) @reference
(call_expression function: (identifier) @reference)
(selector_expression field: (field_identifier) @reference)
(identifier) @capital
