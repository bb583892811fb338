# A fresh interpreter: all it has of the first run is `_`, the value that came back.
from collections import Counter

records = await load_result(_["handle"])

by_state = Counter(r["state"] for r in records)
by_label = Counter(label for r in records for label in r["labels"])
busiest = max(records, key=lambda r: r["comments"])

return {
    "issues": len(records),
    "by_state": dict(by_state),
    "top_labels": dict(by_label.most_common(5)),
    "busiest": {"title": busiest["title"], "comments": busiest["comments"]},
}
