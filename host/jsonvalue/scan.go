package jsonvalue

import (
	"bytes"
	"strconv"
)

// withinLimits tells whether a text that is valid JSON keeps to the depth and
// number limits.
func withinLimits(text []byte) bool {
	depth := 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			i = skipString(text, i)
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return false
			}
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case c == '-' || '0' <= c && c <= '9':
			end := skipNumber(text, i)
			if numberProblem(text[i:end]) != "" {
				return false
			}
			i = end
		default:
			i++
		}
	}
	return true
}

// skipString returns the index after the string that starts at text[i].
func skipString(text []byte, i int) int {
	i++
	for {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		quote := i + n
		i = quote + 1
		escapes := 0
		for text[quote-1-escapes] == '\\' { // ends at the opening quote at the latest
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

// skipNumber returns the index after the number that starts at text[i].
func skipNumber(text []byte, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
			i++
		default:
			return i
		}
	}
	return i
}

// numberProblem says why a valid number literal isn't acceptable, or "".
func numberProblem(literal []byte) string {
	if len(literal) < 5 {
		return "" // "1e400" is the shortest that could overflow
	}
	fraction, exponent := false, -1
	for i, c := range literal {
		switch c {
		case '.':
			fraction = true
		case 'e', 'E':
			exponent = i
		}
	}
	if !fraction && exponent < 0 {
		digits := len(literal)
		if literal[0] == '-' {
			digits--
		}
		if digits > MaxIntegerDigits {
			return "an integer of " + strconv.Itoa(digits) + " digits; Python reads at most " +
				strconv.Itoa(MaxIntegerDigits) + ", write it as a string"
		}
		return ""
	}
	if len(literal) < 200 && (exponent < 0 || len(literal)-exponent <= len("e99")) {
		return "" // below 1e300; spares almost every number the parse
	}
	// A number that is too small reads as 0.0 everywhere and is no error.
	if _, err := strconv.ParseFloat(string(literal), 64); err != nil {
		return "the number " + shorten(string(literal), 40) +
			" is out of range (a float reaches about 1.8e308); write it as a string"
	}
	return ""
}
