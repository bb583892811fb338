package fold

// tighter are the limits under which a preview is tried when it is too large,
// best first: strings go before items, items before depth, and depth before the
// keys at the top.
var tighter = []Shown{
	{5, 240, 50, 8},
	{5, 160, 50, 6},
	{4, 160, 50, 6},
	{3, 160, 50, 6},
	{3, 100, 40, 5},
	{2, 100, 40, 5},
	{2, 60, 30, 4},
	{1, 60, 30, 4},
	{1, 40, 20, 4},
	{1, 40, 40, 3},
	{1, 40, 20, 3},
	{1, 30, 10, 3},
	{2, 30, 40, 2},
	{1, 24, 25, 2},
	{1, 24, 12, 2},
	{1, 24, 8, 2},
	{5, 40, 50, 1},
	{3, 24, 50, 1},
	{1, 16, 30, 1},
	{1, 16, 15, 1},
	{1, 16, 8, 1},
	{1, 8, 3, 1},
	{1, 8, 1, 1},
	{1, 8, 1, 0},
}

// preview writes the preview under the loosest limits that make it fit. The last
// of them always do: 8 characters take at most 96 bytes.
func (f *folder) preview() ([]byte, Shown) {
	limits := Shown{f.l.Items, f.l.Characters, f.l.Keys, f.l.Levels}
	s := limits
	buf := make([]byte, 0, f.l.PreviewBytes)
	for _, next := range tighter {
		if out, ok := f.appendPiece(buf, 0, 0, s); ok {
			return out, s
		}
		s = Shown{min(limits.Items, next.Items), min(limits.Characters, next.Characters),
			min(limits.Keys, next.Keys), min(limits.Levels, next.Levels)}
	}
	out, _ := f.appendPiece(buf, 0, 0, s)
	return out, s
}

// appendPiece writes a piece; ok is false when dst is over the limit.
func (f *folder) appendPiece(dst []byte, n int32, level int, s Shown) (out []byte, ok bool) {
	p := &f.pieces[n]
	switch p.kind {
	case '[', '{':
		if p.cut || level >= s.Levels && p.first != 0 {
			if p.kind == '[' {
				dst = append(dst, `"[…]"`...)
			} else {
				dst = append(dst, `"{…}"`...)
			}
			break
		}
		return f.appendContent(dst, p, level, s)
	case '"':
		dst = appendCut(dst, f.text[p.start:p.end], s.Characters)
	default:
		if literal := f.text[p.start:p.end]; len(literal) <= maxNumberBytes {
			dst = append(dst, literal...)
		} else {
			dst = append(dst, '"')
			dst = append(dst, literal[:min(maxNumberBytes, s.Characters)-1]...)
			dst = append(dst, `…"`...)
		}
	}
	return dst, len(dst) <= f.l.PreviewBytes
}

func (f *folder) appendContent(dst []byte, p *piece, level int, s Shown) (out []byte, ok bool) {
	most := s.Items
	if p.kind == '{' {
		most = s.Keys
	}
	dst = append(dst, p.kind)
	child := p.first
	for i := 0; i < most && child != 0; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		if p.kind == '{' {
			dst = append(dst, f.text[f.pieces[child].nameStart:f.pieces[child].nameEnd]...)
			dst = append(dst, ':')
		}
		if dst, ok = f.appendPiece(dst, child, level+1, s); !ok {
			return dst, false
		}
		child = f.pieces[child].next
	}
	dst = append(dst, p.kind+2) // ']' and '}' come two after '[' and '{'
	return dst, len(dst) <= f.l.PreviewBytes
}

// appendCut writes a string with at most n characters, of which "…" is the last
// when it had more.
func appendCut(dst, quoted []byte, n int) []byte {
	s := inside(quoted)
	if end := skipChars(s, 0, n); end == len(s) {
		return append(dst, quoted...)
	}
	end := skipChars(s, 0, n-1)
	dst = append(append(dst, '"'), s[:end]...)
	return append(dst, `…"`...)
}
