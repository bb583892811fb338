package config

var foldTable = table{
	name: "fold",
	doc: []string{
		"An answer that is too large for a model's context is kept in the result store, and",
		"a preview with its shape and a handle goes instead; result_query reads the rest.",
	},
	settings: []setting{
		{
			name: "enabled",
			doc:  []string{"false sends every answer whole, however large."},
		},
		{
			name: "threshold_bytes",
			doc:  []string{"Size of the largest answer that is sent whole, and of the largest slice that is read."},
			min:  int64(1 * KiB), max: int64(16 * MiB),
		},
		{
			name: "max_entries",
			doc: []string{
				"Answers kept this way at once, in each scope; the oldest makes room. Values saved",
				"by save_result are counted apart and stay.",
			},
			min: 1, max: 1_000_000, unit: "answers",
		},
		{
			name: "max_total_bytes",
			doc:  []string{"Size of all of them in a scope together. An answer above this is sent whole."},
			min:  int64(1 * KiB), max: int64(64 * GiB),
		},
	},
}
