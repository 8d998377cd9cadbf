package worker

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/sources"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/provider/price"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// modelPrices are the prices of models in the file of PAWL_MODEL_PRICES. It reads the file again when the file
// changes. While the file is not valid, the earlier prices stay. It is safe for concurrent use.
type modelPrices struct {
	name string
	log  *slog.Logger

	mutex    sync.Mutex
	size     int64
	modified time.Time
	fault    string
	table    price.Table
}

// readPrices reads the file of PAWL_MODEL_PRICES. Without a file, no model has a price.
func readPrices(c Config) (*modelPrices, error) {
	p := &modelPrices{name: c.ModelPrices, log: c.Log}
	if p.name == "" {
		return p, nil
	}
	if err := p.read(); err != nil {
		return nil, fmt.Errorf("config: PAWL_MODEL_PRICES: %w", err)
	}
	return p, nil
}

// Cost returns the cost of a response, as price.Table.Cost does, with the prices that the file has now.
func (p *modelPrices) Cost(format, model string, usage wire.Usage) (microUSD int64, ok bool) {
	return p.currentTable().Cost(format, model, usage)
}

// currentTable returns the prices in the file. It logs a fault of the file once.
func (p *modelPrices) currentTable() price.Table {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.name == "" {
		return p.table
	}
	fault := ""
	info, err := os.Stat(p.name)
	switch {
	case err != nil:
		fault = sources.FileFault(err)
	case info.Size() == p.size && info.ModTime().Equal(p.modified):
		return p.table
	default:
		if err := p.read(); err != nil {
			fault = sources.FileFault(err)
		} else {
			p.log.Info("the prices of models were read again", "file", p.name, "date", p.table.Date())
		}
	}
	if fault != "" && fault != p.fault {
		p.log.Warn("the prices of models are those of before: PAWL_MODEL_PRICES is not valid", "file", p.name, "fault", fault)
	}
	p.fault = fault
	return p.table
}

// read reads the file. It keeps the size and the time that the file had before the read, so that currentTable
// notices a change during the read.
func (p *modelPrices) read() error {
	info, err := os.Stat(p.name)
	if err != nil {
		return err
	}
	text, err := readFile(p.name, strictyaml.MaxDocument)
	if err != nil {
		return err
	}
	table, err := price.Parse(p.name, text)
	if err == nil {
		p.table = table
	}
	p.size, p.modified = info.Size(), info.ModTime()
	return err
}
