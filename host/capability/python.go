package capability

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// What Python 3.14 gives a meaning to. A name from here as an alias would either
// not compile or take something away from the snippet.
var (
	keywords = set(`False None True and as assert async await break class continue def del elif else except
		finally for from global if import in is lambda nonlocal not or pass raise return try while with yield`)

	// The soft keywords match, case and type keep their meaning in their own
	// statement only: match.list(x=1) and case(x=1) are plain calls. type is kept
	// out as a builtin, _ as the previous run's value.

	builtins = set(`ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError
		BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError
		ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning
		EnvironmentError Exception ExceptionGroup FileExistsError FileNotFoundError FloatingPointError
		FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError IndexError
		InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
		ModuleNotFoundError NameError NotADirectoryError NotImplemented NotImplementedError OSError
		OverflowError PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError
		RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration
		StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError TypeError
		UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError
		UnicodeWarning UserWarning ValueError Warning ZeroDivisionError _IncompleteInputError abs aiter all
		anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright
		credits delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals
		hasattr hash help hex id input int isinstance issubclass iter len license list locals map max
		memoryview min next object oct open ord pow print property quit range repr reversed round set setattr
		slice sorted staticmethod str sum super tuple type vars zip`)

	// Toolplane's own names in a snippet, those of later parts included, so that
	// adding one never takes an alias away.
	bindings = set(`_ ToolError call_tool inputs save_result load_result save_artifact load_artifact save_file
		load_file save_session load_session page cli cli_run`)
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// pythonName turns part of a canonical name into the spelling of an alias: what
// separates words in tool names becomes an underscore, and the rest is put into
// the normal form in which Python compares identifiers.
func pythonName(s string) string { return norm.NFKC.String(separators.Replace(s)) }

var separators = strings.NewReplacer("-", "_", ".", "_", "/", "_", " ", "_")

// isIdentifier follows Python's rules for a name that is in NFKC. Go's Unicode
// tables may be older than Python's; a letter that only Python knows costs an
// alias, no more.
func isIdentifier(s string) bool {
	for i, r := range s {
		start := r == '_' || unicode.IsLetter(r) || unicode.In(r, unicode.Nl, unicode.Other_ID_Start)
		if !start && (i == 0 || !unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)) {
			return false
		}
	}
	return s != ""
}

// globalProblem says why name can't be a global of a snippet, or "".
func globalProblem(name string) string {
	switch {
	case !isIdentifier(name):
		return "isn't a Python identifier"
	case keywords[name]:
		return "is a Python keyword"
	case builtins[name]:
		return "is a Python builtin"
	case bindings[name]:
		return "is a name of Toolplane's own"
	case strings.HasPrefix(name, "__"):
		return "begins with two underscores, which Python keeps for itself"
	}
	return ""
}

// attributeProblem says why name can't follow a dot, or "". A builtin can.
func attributeProblem(name string) string {
	switch {
	case !isIdentifier(name):
		return "isn't a Python identifier"
	case keywords[name]:
		return "is a Python keyword"
	case strings.HasPrefix(name, "__"):
		return "begins with two underscores, which Python keeps for itself"
	}
	return ""
}

// isParameter tells whether name can be passed as name=value and arrive as it
// is: Python normalises what is written there.
func isParameter(name string) bool {
	return isIdentifier(name) && !keywords[name] && norm.NFKC.IsNormalString(name)
}
