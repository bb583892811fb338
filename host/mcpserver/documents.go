package mcpserver

import (
	"container/list"
	"encoding/json"
	"sync"

	"github.com/toolplane/toolplane/host/fold"
)

// maxDocuments bounds the stored values whose index is kept: an agent reads one
// at a time, or compares a few.
const maxDocuments = 4

// documents keeps the indexes of the values that were read last, so that reading
// on doesn't scan a value again. It's safe for concurrent use.
//
// It never answers whether a value is there: the store does, each time.
type documents struct {
	mu       sync.Mutex
	byHandle map[string]*list.Element
	order    list.List // of *document, the one used last in front
}

type document struct {
	handle string
	*fold.Document
}

// of returns the document of a value that the store has just returned. A handle
// stands for one value for ever.
func (d *documents) of(handle string, value json.RawMessage) *fold.Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	if el := d.byHandle[handle]; el != nil {
		d.order.MoveToFront(el)
		return el.Value.(*document).Document
	}
	if d.byHandle == nil {
		d.byHandle = map[string]*list.Element{}
	}
	doc := &document{handle, fold.NewDocument(value)} // indexed by its first reader, outside the lock
	d.byHandle[handle] = d.order.PushFront(doc)
	if d.order.Len() > maxDocuments {
		d.drop(d.order.Back())
	}
	return doc.Document
}

// forget lets go of a value that the store no longer has.
func (d *documents) forget(handle string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if el := d.byHandle[handle]; el != nil {
		d.drop(el)
	}
}

func (d *documents) drop(el *list.Element) {
	delete(d.byHandle, d.order.Remove(el).(*document).handle)
}
