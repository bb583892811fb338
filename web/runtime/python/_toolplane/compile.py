"""Turns a snippet into a code object that runs in __main__: top-level await and return, names that stay.

The snippet becomes the body of an async function whose every name is declared global; then the function's code object
is made to look like a module's. That gives a real `return` (no exception that user code could catch), and lines and
columns are those of the source, because the user's own syntax nodes are compiled.
"""

import ast
import builtins
import inspect
import io
import linecache
import sys
import types
import warnings

from _toolplane.errors import ToolError

_FUNCTION = "__snippet__"
_NESTED = _FUNCTION + ".<locals>."
_OWN_SCOPE = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda
_FUTURE = "__future__"
# Looked up among the builtins under a name that no user code can spell, so it neither shows up nor collides.
_STAR = "import *"


class BindingError(ToolError, SyntaxError):
    """The snippet assigns to a name that Toolplane provides."""

    host_type = "BindingError"


BindingError.__module__ = "builtins"


def compile_snippet(source, filename, reserved=()):
    """Compiles `source`. Returns (code, implicit): eval(code, globals) gives a coroutine for the run's value, and
    implicit tells that this value is the last expression's.

    Raises SyntaxError with the line's text, also for an assignment to a name in `reserved` (a BindingError).
    """
    source = source.removeprefix("\ufeff")
    try:
        tree = compile(source, filename, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        returns = _rewrite(tree.body)
        futures, body = _split_futures(tree.body)
        implicit = not returns and _return_last_expression(body, source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the second build gives each warning, once
            names = _local_names(_build(futures, body, (), filename))
        if not names.isdisjoint(reserved) or "global" in source:
            _refuse_reserved(tree, reserved, filename)
        code = _build(futures, body, names, filename)
    except SyntaxError as error:
        if error.msg == "'yield from' inside async function":
            error.msg = "'yield from' outside function"  # the async function is ours
        _add_text(error, source)
        raise
    except UnicodeEncodeError:
        raise SyntaxError("the snippet holds a lone surrogate, which no source text can") from None
    if code.co_flags & inspect.CO_ASYNC_GENERATOR:
        error = _error_at(SyntaxError, "'yield' outside function", _first_yield(tree.body), filename)
        _add_text(error, source)
        raise error
    flags = code.co_flags & ~(inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS)
    return _unnest(code).replace(co_name="<module>", co_qualname="<module>", co_flags=flags), implicit


def source_lines(source):
    """The lines as the compiler counts them (str.splitlines also splits at form feeds and the like)."""
    return io.StringIO(source, newline=None).readlines()


# ---- changes to the syntax tree


def _rewrite(body):
    """Replaces what a function can't hold, in place. Returns whether there's a `return` in the snippet's own scope.

    Only statements are visited, with a list instead of recursion: an expression may be nested thousands deep.
    """
    returns = False
    blocks = [body]
    while blocks:
        block = blocks.pop()
        for i, node in enumerate(block):
            if isinstance(node, _OWN_SCOPE):
                continue
            if isinstance(node, ast.Return):
                returns = True
            elif isinstance(node, ast.AnnAssign):
                # A name can't be both annotated and global. Annotations of a module aren't evaluated anyway.
                new = ast.Assign([node.target], node.value) if node.value else ast.Pass()
                block[i] = ast.copy_location(new, node)
            elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                block[i] = _star_call(node)
            else:
                for field in ("body", "orelse", "finalbody"):
                    blocks.append(getattr(node, field, ()))
                for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                    blocks.append(inner.body)
    return returns


def _star_call(node):
    at = lambda new: ast.copy_location(new, node)
    arguments = [at(ast.Constant(node.module or "")), at(ast.Constant(node.level))]
    return at(ast.Expr(at(ast.Call(at(ast.Name(_STAR, ast.Load())), arguments, []))))


def _import_star(name, level):
    namespace = sys.modules["__main__"].__dict__
    module = __import__(name, namespace, None, ["*"], level)
    names = getattr(module, "__all__", None)
    if names is None:
        names = [n for n in vars(module) if not n.startswith("_")]
    for n in names:
        namespace[n] = getattr(module, n)


setattr(builtins, _STAR, _import_star)


def _split_futures(body):
    """Future imports, which must stay at the start of the module, and the rest."""
    first = 1 if body and _is_string(body[0]) else 0
    end = first
    while end < len(body) and isinstance(body[end], ast.ImportFrom) and body[end].module == _FUTURE:
        end += 1
    return body[first:end], body[:first] + body[end:]


def _is_string(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _return_last_expression(body, source):
    """Makes the last statement a return if it's an expression that no semicolon follows."""
    if not (body and isinstance(body[-1], ast.Expr)):
        return False
    last = body[-1]
    lines = source_lines(source)
    rest = lines[last.end_lineno - 1].encode()[last.end_col_offset :].decode()
    rest = (rest + "".join(lines[last.end_lineno :])).lstrip(" \t\f\\\n")
    if rest.startswith(";"):
        return False
    body[-1] = ast.copy_location(ast.Return(last.value), last)
    return True


# ---- code objects


def _build(futures, body, names, filename):
    """The code object of the body as an async function, with `names` declared global."""
    body = list(body) or [ast.Pass(lineno=1, end_lineno=1, col_offset=0, end_col_offset=0)]
    place = {"lineno": 1, "end_lineno": 1, "col_offset": 0, "end_col_offset": 0}
    if names:
        body.insert(0, ast.Global(sorted(names), **place))
    no_arguments = ast.arguments([], [], None, [], [], None, [])
    function = ast.AsyncFunctionDef(_FUNCTION, no_arguments, body, [], None, None, [], **place)
    module = compile(ast.Module([*futures, function], []), filename, "exec", dont_inherit=True)
    return next(c for c in module.co_consts if isinstance(c, types.CodeType) and c.co_name == _FUNCTION)


def _local_names(code):
    return {n for n in code.co_varnames + code.co_cellvars if n.isidentifier()}


def _unnest(code):
    """Drops the async function from the qualified names of lambdas and comprehensions within it."""
    constants = tuple(_unnest(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=constants, co_qualname=code.co_qualname.removeprefix(_NESTED))


# ---- errors


def _own_nodes(body):
    """The nodes that are evaluated in the snippet's own scope. Targets of comprehensions aren't."""
    todo = list(body)
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            todo += [*node.decorator_list, *_defaults(node.args)]
        elif isinstance(node, ast.Lambda):
            todo += _defaults(node.args)
        elif isinstance(node, ast.ClassDef):
            todo += [*node.decorator_list, *node.bases, *node.keywords]
        elif isinstance(node, ast.comprehension):
            todo += [node.iter, *node.ifs]
        else:
            todo += ast.iter_child_nodes(node)


def _defaults(arguments):
    return [*arguments.defaults, *filter(None, arguments.kw_defaults)]


def _place(node):
    return node.lineno, node.col_offset


def _first_yield(body):
    found = [n for n in _own_nodes(body) if isinstance(n, (ast.Yield, ast.YieldFrom))]
    return min(found, key=_place, default=None)


def _bound_names(node):
    """Names that a node of the snippet's own scope binds or deletes."""
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [a.asname or a.name.partition(".")[0] for a in node.names]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
        return (node.name,)
    if isinstance(node, (ast.MatchAs, ast.MatchStar)):
        return (node.name,)
    if isinstance(node, ast.MatchMapping):
        return (node.rest,)
    return ()


def _refuse_reserved(tree, reserved, filename):
    found = [(n, name) for n in _own_nodes(tree.body) for name in _bound_names(n) if name in reserved]
    found += [(n, name) for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names if name in reserved]
    if found:
        node, name = min(found, key=lambda pair: _place(pair[0]))
        message = f"{name} can't be assigned to, because Toolplane provides it; use another name, such as my_{name}"
        raise _error_at(BindingError, message, node, filename)


def _error_at(kind, message, node, filename):
    if node is None:
        return kind(message, (filename, 1, 1, None))
    place = filename, node.lineno, node.col_offset + 1, None, node.end_lineno, node.end_col_offset + 1
    return kind(message, place)


def _add_text(error, source):
    """Errors that come from the tree lack the text of their line."""
    lines = source_lines(source)
    if error.text is None and error.lineno and error.lineno <= len(lines):
        error.text = lines[error.lineno - 1]


# ---- sources for tracebacks

_MAX_SOURCES = 256
_sources = {}


def register_source(source, filename):
    """Makes the source known to tracebacks. Returns the file name to compile with, which differs from `filename` when
    an earlier run used that for another source: functions of that run must keep showing their own lines."""
    name, n = filename, 1
    while _sources.get(name, source) != source:
        n += 1
        name = f"{filename} ({n})"
    if name not in _sources and len(_sources) >= _MAX_SOURCES:
        oldest = next(iter(_sources))
        del _sources[oldest]
        linecache.cache.pop(oldest, None)
    _sources[name] = source
    linecache.cache[name] = len(source), None, source_lines(source), name
    return name


def forget_sources():
    """Starts anew with file names, in an interpreter that has run nothing yet that counts."""
    for name in _sources:
        linecache.cache.pop(name, None)
    _sources.clear()
