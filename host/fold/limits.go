package fold

import "math"

// Defaults of [Limits], and the bounds that they are held to.
const (
	DefaultThresholdBytes = 16 << 10
	MinThresholdBytes     = 1 << 10

	DefaultItems      = 5
	DefaultCharacters = 500
	DefaultKeys       = 50
	DefaultLevels     = 8

	DefaultPreviewBytes = 2560
	DefaultShapeBytes   = 1536
	MinPartBytes        = 128 // of a preview or a shape

	maxItems, maxCharacters, maxKeys, maxLevels, maxPartBytes = 100, 10_000, 500, 16, 256 << 10

	// A key or number longer than this isn't shown as it is.
	maxNameCharacters = 100
	maxNumberBytes    = 100
)

// Limits says when a value is folded, and how much of it is shown. A zero field
// means its default; one out of bounds is moved to the bound.
type Limits struct {
	// ThresholdBytes is the size of the largest text that isn't folded.
	ThresholdBytes int

	// Items is how many items of each list the preview shows, Characters how many
	// characters of each string, Keys how many keys of each object, and Levels how
	// deep lists and objects may nest in it.
	Items, Characters, Keys, Levels int

	// PreviewBytes and ShapeBytes are how large the two texts may be. Where a
	// preview under the limits above doesn't fit, it is made under tighter ones.
	PreviewBytes, ShapeBytes int
}

func (l Limits) withDefaults() Limits {
	bound := func(n *int, otherwise, low, high int) {
		if *n == 0 {
			*n = otherwise
		}
		*n = min(max(*n, low), high)
	}
	bound(&l.ThresholdBytes, DefaultThresholdBytes, MinThresholdBytes, math.MaxInt)
	bound(&l.Items, DefaultItems, 1, maxItems)
	bound(&l.Characters, DefaultCharacters, 2, maxCharacters)
	bound(&l.Keys, DefaultKeys, 1, maxKeys)
	bound(&l.Levels, DefaultLevels, 1, maxLevels)
	bound(&l.PreviewBytes, DefaultPreviewBytes, MinPartBytes, maxPartBytes)
	bound(&l.ShapeBytes, DefaultShapeBytes, MinPartBytes, maxPartBytes)
	return l
}

// Shown says under which limits a preview was made. They are those of [Limits],
// or tighter ones that made it fit.
type Shown struct {
	Items      int `json:"items"`
	Characters int `json:"characters"`
	Keys       int `json:"keys"`
	Levels     int `json:"levels"`
}
