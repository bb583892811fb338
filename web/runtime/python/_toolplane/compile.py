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
import typing
import warnings

from _toolplane.errors import ToolError

_FUNCTION = "__snippet__"
_NESTED = _FUNCTION + ".<locals>."
_OWN_SCOPE = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda
_FUTURE = "__future__"
_MAX_SHORT = 60
# What the compiler says of a top-level yield, because it sees an async function.
_ABOUT_YIELD = "'yield from' inside async function", "'return' with value in async generator"
# Looked up among the builtins under a name that no user code can spell, so it neither shows up nor collides.
_STAR = "import *"


class BindingError(ToolError, SyntaxError):
    """The snippet assigns to a name that Toolplane provides."""

    host_type = "BindingError"


BindingError.__module__ = "builtins"


class Snippet(typing.NamedTuple):
    code: types.CodeType  # eval(code, globals) gives a coroutine for the run's value
    implicit: bool  # whether that's the last expression's value, for lack of a return
    returned: str | None  # the source of that value, where it's one short expression


def compile_snippet(source, filename, reserved=()):
    """Compiles `source` to a Snippet.

    Raises SyntaxError with the line's text, also for an assignment to a name in `reserved` (a BindingError).
    """
    source = source.removeprefix("\ufeff")
    try:
        tree = compile(source, filename, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        returns = _rewrite(tree.body)
        futures, body = _split_futures(tree.body)
        implicit = not returns and _return_last_expression(body, source)
        returned = _short_source(returns[0] if len(returns) == 1 else implicit and body[-1], source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the second build gives each warning, once
            names = _local_names(_build(futures, body, (), filename))
        if not names.isdisjoint(reserved) or "global" in source:
            _refuse_reserved(tree, reserved, filename)
        code = _build(futures, body, names, filename)
        if code.co_flags & inspect.CO_ASYNC_GENERATOR:
            raise _yield_error(tree.body, filename)
    except SyntaxError as error:
        if error.msg in _ABOUT_YIELD:
            error = _yield_error(tree.body, filename) or error
        _add_text(error, source)
        raise error from None
    except UnicodeEncodeError:
        raise SyntaxError("the snippet holds a lone surrogate, which no source text can") from None
    flags = code.co_flags & ~(inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS)
    code = _unnest(code).replace(co_name="<module>", co_qualname="<module>", co_flags=flags)
    return Snippet(code, implicit, returned)


def source_lines(source):
    """The lines as the compiler counts them (str.splitlines also splits at form feeds and the like)."""
    return io.StringIO(source, newline=None).readlines()


# ---- changes to the syntax tree


def _rewrite(body):
    """Replaces what a function can't hold, in place. Gives the return statements of the snippet's own scope.

    Only statements are visited, with a list instead of recursion: an expression may be nested thousands deep.
    """
    returns = []
    blocks = [body]
    while blocks:
        block = blocks.pop()
        for i, node in enumerate(block):
            if isinstance(node, _OWN_SCOPE):
                continue
            if isinstance(node, ast.Return):
                returns.append(node)
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


def _short_source(node, source):
    """The source of a return's value if it's a name, or an attribute, item or call of one, that fits on a line."""
    value = node and node.value
    if not isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        return None
    text = ast.get_source_segment(source, value)
    return text if text and len(text) <= _MAX_SHORT and "\n" not in text else None


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


def _yield_error(body, filename):
    """The error for the first `yield` of the snippet's own scope, if there's one."""
    found = [n for n in _own_nodes(body) if isinstance(n, (ast.Yield, ast.YieldFrom))]
    if not found:
        return None
    first = min(found, key=_place)
    word = "yield" if isinstance(first, ast.Yield) else "yield from"
    return _error_at(SyntaxError, f"'{word}' outside function", first, filename)


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
    place = filename, node.lineno, node.col_offset + 1, None, node.end_lineno, node.end_col_offset + 1
    return kind(message, place)


def _add_text(error, source):
    """Adds the text of the line to an error that comes from the tree, not from the parser.

    Such an error counts its columns in bytes, and a shown SyntaxError in characters.
    """
    lines = source_lines(source)
    if error.text is not None or not error.lineno or error.lineno > len(lines):
        return
    error.text = lines[error.lineno - 1]
    if error.offset:
        error.offset = _characters(error.text, error.offset - 1) + 1
    if error.end_offset and error.end_lineno and error.end_lineno <= len(lines):
        error.end_offset = _characters(lines[error.end_lineno - 1], error.end_offset - 1) + 1


def _characters(line, column):
    return len(line.encode()[:column].decode("utf-8", "replace"))


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
