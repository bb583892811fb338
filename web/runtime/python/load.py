# Loads the modules of the manifest without a filesystem. The value of this script is the function `load`; it runs
# in a namespace of its own, so that nothing of it is left in the snippet's globals.


def load(sources):
    """Executes (name, source) pairs, given as JSON, into sys.modules. A package comes before its modules."""
    import json
    import sys
    import types

    for name, source in json.loads(sources):
        module = types.ModuleType(name)
        # The file name marks plumbing: tracebacks leave out frames whose file starts with it (see report.py).
        code = compile(source, f"<toolplane>/{name}", "exec", dont_inherit=True)
        sys.modules[name] = module
        package, _, last = name.rpartition(".")
        if package:
            setattr(sys.modules[package], last, module)
        exec(code, module.__dict__)


load
