(struct_specifier name: (type_identifier) @name body: (_)) @scope
(union_specifier name: (type_identifier) @name body: (_)) @scope
(enum_specifier name: (type_identifier) @name body: (_)) @scope
(type_definition declarator: (type_identifier) @name) @value
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @function
(declaration
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @function
(preproc_def name: (identifier) @name value: (_)) @value
(preproc_function_def name: (identifier) @name) @function

(type_identifier) @reference
(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (field_identifier) @reference))
(identifier) @capital
