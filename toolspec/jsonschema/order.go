package jsonschema

import (
	"strconv"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// readOrder records the order in which the document lists the fields of n and of all nodes below
// it. The value at i of the tape is n.
func (n *Node) readOrder(t *strictjson.Tape, i int) {
	if len(n.Subs) == 0 {
		return
	}
	below := make(map[[2]string]*Node, len(n.Subs))
	for _, s := range n.Subs {
		below[[2]string{s.Keyword, s.Name}] = s.To
	}
	read := func(keyword, name string, at int) {
		if child := below[[2]string{keyword, name}]; child != nil {
			child.readOrder(t, at)
		}
	}
	for j := i + 1; j < int(t.Items[i].Next); j = int(t.Items[j+1].Next) {
		keyword, value := t.Text(j), j+1
		switch kind := t.Items[value].Kind; {
		case !HoldsSchemas(keyword):
		case kind == '[':
			for k, index := value+1, 0; k < int(t.Items[value].Next); k, index = int(t.Items[k].Next), index+1 {
				read(keyword, strconv.Itoa(index), k)
			}
		case kind == '{' && HoldsTable(keyword):
			for k := value + 1; k < int(t.Items[value].Next); k = int(t.Items[k+1].Next) {
				name := t.Text(k)
				if keyword == "properties" {
					n.Order = append(n.Order, name)
				}
				read(keyword, name, k+1)
			}
		case kind == '{':
			read(keyword, "", value)
		}
	}
}
