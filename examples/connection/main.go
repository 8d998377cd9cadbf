// Command connection is a worker with a tool that acts with an account at another
// service, and that can find out what became of an attempt that gave no answer.
//
//	pawl dev --policy examples/policy.yaml -- go run ./examples/connection -shop https://api.shop.example
//
// and, in another terminal, in the same directory:
//
//	pawl connections add shop --providers examples/connection/provider.yaml --provider shop --secret-file token.txt --scope refunds
//	pawl connections grant shop --to agent:cli --all-scopes
//	pawl invoke shop__refund --connection shop --args '{"orderId":"A-1001","cents":500}'
package main

import (
	"flag"
	"os"

	"github.com/pawl-run/pawl/worker"
)

func main() {
	url := flag.String("shop", "https://api.shop.example", "where the API of the shop begins")
	flag.Parse()
	os.Exit(worker.Main(worker.Tools(refund(shop{url: *url}))))
}
