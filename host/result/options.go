package result

import "time"

// Defaults of [Options].
const (
	DefaultMaxEntries      = 64
	DefaultMaxTotalBytes   = 32 << 20
	DefaultMaxEntryBytes   = 8 << 20
	DefaultMaxProcessBytes = 512 << 20
	DefaultTTL             = time.Hour

	DefaultMaxFolds     = 64
	DefaultMaxFoldBytes = 32 << 20
)

// MaxLabelBytes is how long a label may be, in bytes of UTF-8.
const MaxLabelBytes = 200

// Options are a store's limits. A field that is zero or negative takes its
// default; New copies the options, so that changing them later has no effect.
type Options struct {
	// MaxEntries is how many values one scope may save at a time.
	MaxEntries int
	// MaxTotalBytes is how many bytes one scope may save, labels included.
	MaxTotalBytes int64
	// MaxEntryBytes is how large one value with its label may be. A value larger
	// than MaxTotalBytes is refused in any case.
	MaxEntryBytes int64
	// MaxProcessBytes is how many bytes all scopes together may keep, so that many
	// scopes can't fill the memory that one couldn't. Its default is never below
	// what one scope may keep.
	MaxProcessBytes int64
	// MaxFolds and MaxFoldBytes bound the folds of one scope, in number and in bytes
	// together. They are a budget of their own: saved values don't take from it, and
	// folds take nothing from theirs.
	MaxFolds     int
	MaxFoldBytes int64
	// TTL is how long a value is kept after it was saved. Reading it doesn't
	// prolong that.
	TTL time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.MaxEntries <= 0 {
		o.MaxEntries = DefaultMaxEntries
	}
	if o.MaxTotalBytes <= 0 {
		o.MaxTotalBytes = DefaultMaxTotalBytes
	}
	if o.MaxEntryBytes <= 0 {
		o.MaxEntryBytes = DefaultMaxEntryBytes
	}
	if o.MaxFolds <= 0 {
		o.MaxFolds = DefaultMaxFolds
	}
	if o.MaxFoldBytes <= 0 {
		o.MaxFoldBytes = DefaultMaxFoldBytes
	}
	if o.MaxProcessBytes <= 0 {
		o.MaxProcessBytes = max(DefaultMaxProcessBytes, o.MaxTotalBytes+o.MaxFoldBytes)
	}
	if o.TTL <= 0 {
		o.TTL = DefaultTTL
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
