(class name: [(constant) @name (scope_resolution name: (constant) @name)]) @scope
(module name: [(constant) @name (scope_resolution name: (constant) @name)]) @scope
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(assignment left: (constant) @name) @value

(call method: (identifier) @reference)
(constant) @reference
