# Fetch everything, keep it on the host, and return only what is worth reading.
page = await issues.list(count=5000)
records = page["issues"]

handle = await save_result(records, label="5,000 issues")

return {
    "count": len(records),
    "sample": [
        {"number": r["number"], "title": r["title"], "state": r["state"]} for r in records[:3]
    ],
    "handle": handle,
}
