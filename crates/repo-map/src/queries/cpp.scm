(class_specifier name: (type_identifier) @name body: (_)) @scope
(namespace_definition name: (_) @name body: (_)) @scope
(alias_declaration name: (type_identifier) @name) @value
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @function
(function_definition
  declarator: (function_declarator declarator: (qualified_identifier name: (identifier) @name))) @function
(function_definition
  declarator: (reference_declarator (function_declarator declarator: [(identifier) (field_identifier)] @name))) @function
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @function

(call_expression function: (qualified_identifier name: (identifier) @reference))
(template_function name: (identifier) @reference)
