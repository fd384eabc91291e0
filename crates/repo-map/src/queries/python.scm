(class_definition name: (identifier) @name) @scope
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name) @value))

(call function: (identifier) @reference)
(call function: (attribute attribute: (identifier) @reference))
(decorator (identifier) @reference)
(type (identifier) @reference)
(import_from_statement name: (dotted_name (identifier) @reference))
(import_from_statement name: (aliased_import name: (dotted_name (identifier) @reference)))
(class_definition superclasses: (argument_list (identifier) @reference))
(identifier) @capital
