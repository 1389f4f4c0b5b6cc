package debugpage

import (
	"net/url"
	"strconv"
)

// A foundView has the data of found items for the template.
type foundView struct {
	// Title, ID and Fault are those of the report. Back leads to the queue.
	Title, ID, Fault, Back string
	Notices                []string
	Facts                  []fact
	Tables                 []table
	Buttons                []button
}

func (h *handler) foundView(q query, r queueReport) *foundView {
	back := h.address(q, func(url.Values) {})
	return &foundView{
		Title: r.Found.Title, ID: r.ID, Fault: r.Fault, Back: back,
		Notices: r.Found.notices(), Facts: r.Found.facts(), Tables: []table{r.foundTable()},
	}
}

// notices say what the result lacks.
func (f *foundReport) notices() (all []string) {
	if !f.Complete {
		all = append(all, "The queue has more items than one request visits: only the first "+formatCount(maxVisited)+" were searched.")
	}
	if f.choice.item != "" && len(f.Items) == 0 && f.Complete {
		all = append(all, "The queue does not hold this item: it is done, canceled or discarded.")
	}
	return all
}

// facts describe the group, or the last failure of the item.
func (f *foundReport) facts() (all []fact) {
	if g := f.Group; g != nil {
		all = append(all,
			fact{"Group", shownKey{g.Group, g.GroupLength}.inWords()}, fact{"Ready", formatCount(g.Ready)},
			fact{"Share of ready", formatShare(g.Share)}, fact{"Oldest ready", formatValue(asDuration, f.OldestReadySeconds)},
			fact{"In flight", formatCount(g.Processing)}, fact{"Held, in any state", formatCount(g.Held)},
			fact{"Weight", formatCount(g.Weight)}, fact{"Throttled", g.restraint()},
			fact{"Limit in flight", orNone(g.Limit > 0, formatCount(g.Limit), "no limit")}, fact{"Rate", g.rate()}, fact{"Shard", formatCount(g.Shard)})
	}
	if e := f.Failure; e != nil {
		all = append(all,
			fact{"Last error", shownKey{e.Error, e.ErrorLength}.inWords()}, fact{"Failed", formatDuration(e.AgeSeconds.duration()) + " ago"},
			fact{"At attempt", formatCount(e.Attempt)})
	}
	return all
}

var foundColumns = []column[item]{
	keyColumn, stateColumn, ageColumn("For", false), {heading{"Time left", "dueSeconds", asDuration, ""}, dueColumn.value},
	attemptColumn, workerColumn, dirtyColumn, groupColumn, priorityColumn, shardColumn,
}

// foundTable returns the table of the found items.
func (q queueReport) foundTable() table {
	t := newTable(table{Path: "found.items", Title: "Items", Empty: orNone(q.Found.Complete, "No item.", "None of the items that were searched.")}, foundColumns, q.Found.Items)
	t.linkRows(q, itemIDs(q.Found.Items))
	return t
}

// A rowID selects the item or the group of a row.
type rowID struct {
	// Name is the parameter, and ID its value.
	Name, ID string
	// Batch and Worker are those of the item.
	Batch, Worker int
}

func itemIDs(items []item) (ids []rowID) {
	for _, i := range items {
		ids = append(ids, rowID{"item", i.ID, i.Batch, i.Worker})
	}
	return ids
}

// rowIDs returns what selects the rows of a table, or nil if nothing does.
func (q queueReport) rowIDs(path string) (ids []rowID) {
	switch d := q.Detail; path {
	case "detail.processing":
		return itemIDs(d.Processing)
	case "detail.ready":
		return itemIDs(d.Ready)
	case "detail.delayed":
		return itemIDs(d.Delayed)
	case "detail.retried":
		for _, f := range d.Retried {
			ids = append(ids, rowID{Name: "item", ID: f.ID})
		}
	case "detail.failures", "detail.discards":
		rows := d.Failures
		if path == "detail.discards" {
			rows = d.Discards
		}
		for _, f := range rows {
			ids = append(ids, rowID{Name: "item", ID: f.ID})
		}
	case "detail.groups":
		for _, g := range d.Groups {
			ids = append(ids, rowID{Name: "group", ID: g.ID})
		}
	}
	return ids
}

// linkRows links the keys of a table to the pages of their items or groups.
func (t *table) linkRows(q queueReport, ids []rowID) {
	to := func(name, value string) string {
		values := url.Values{"queue": {q.ID}, name: {value}}
		if q.asked > 0 {
			values.Set("rows", strconv.Itoa(q.asked))
		}
		return "?" + values.Encode()
	}
	for i, id := range ids {
		key := &t.Rows[i].Cells[0]
		if id.ID != "" {
			key.To = to(id.Name, id.ID)
		}
		if id.Batch > 1 {
			key.More = &more{id.Batch - 1, to("worker", strconv.Itoa(id.Worker))}
		}
	}
}
