package main

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/craft-go/craft/internal/chart"
	"github.com/craft-go/craft/storage/replica"
)

// replicaPlan is the JSON document of craft plan replica.
type replicaPlan struct {
	Ranks       int           `json:"ranks"`
	Copies      int           `json:"copies"`
	Nodes       *int          `json:"nodes"`
	Bytes       int64         `json:"bytes"` // of each rank
	RangeBytes  int64         `json:"range_bytes"`
	Permutation bool          `json:"permutation"`
	ByRank      *losses       `json:"by_rank"`
	ByNode      *losses       `json:"by_node"` // null: nodes are not known
	Costs       *replicaCosts `json:"costs"`   // null: too many pieces
}

// losses is when data is lost if ranks, or nodes, fail.
type losses struct {
	Method  string    `json:"method"` // formula or simulation
	Trials  int       `json:"trials,omitempty"`
	Seed    *uint64   `json:"seed,omitempty"`
	Mean    interval  `json:"expected"` // number of failures until data is lost
	Ranks   *interval `json:"expected_ranks,omitempty"`
	Median  int       `json:"median"`
	Failed  []loss    `json:"failed"`
	curve   []loss    // in small steps
	units   int
	perUnit float64 // ranks
}

// loss is the probability that data is lost when so many have failed.
type loss struct {
	Failed      int     `json:"failed"`
	Share       float64 `json:"share"`
	Probability float64 `json:"probability"`
	Low         float64 `json:"low"` // of an interval of 95 %
	High        float64 `json:"high"`
	Bound       float64 `json:"bound"` // the probability is not above it
}

type interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

type replicaCosts struct {
	Memory     int64       `json:"memory_bytes"` // of each rank; twice as much while a version is submitted
	Network    network     `json:"network"`
	Operations []operation `json:"operations"`
}

type network struct {
	Latency       float64 `json:"latency"`
	Piece         float64 `json:"piece"`
	RankBandwidth float64 `json:"rank_bandwidth"`
	NodeBandwidth float64 `json:"node_bandwidth"`
	RanksPerNode  int     `json:"ranks_per_node"`
}

// operation is what one costs the rank that has most to do.
type operation struct {
	Operation        string  `json:"operation"`
	Bytes            int64   `json:"bytes"` // of all ranks
	Messages         int64   `json:"messages"`
	Sent             int64   `json:"sent"`
	Received         int64   `json:"received"`
	MessagesSent     int64   `json:"messages_sent"`
	MessagesReceived int64   `json:"messages_received"`
	Seconds          float64 `json:"seconds"`
}

func newOperation(name string, c replica.Cost) operation {
	return operation{name, c.Bytes, c.Messages, c.Sent, c.Received, c.MessagesSent, c.MessagesReceived, c.Time.Seconds()}
}

// certain is a probability above which further failures are not listed.
const certain = 0.9999

// tabulated are the numbers of failures in a table: 1, 2, 5, 10 ... and all.
func tabulated(units int) (list []int) {
	for power := 1; ; power *= 10 {
		for _, digit := range []int{1, 2, 5} {
			if f := digit * power; f < units {
				list = append(list, f)
			} else {
				return append(list, units)
			}
		}
	}
}

// drawn are those of a curve.
func drawn(units int) (list []int) {
	const steps = 300
	for i := range steps + 1 {
		if f := int(math.Round(math.Pow(float64(units), float64(i)/steps))); len(list) == 0 || f > list[len(list)-1] {
			list = append(list, f)
		}
	}
	return list
}

func formulaLosses(l replica.Loss, ranks int) *losses {
	mean := l.Mean()
	d := &losses{Method: "formula", Mean: interval{mean, mean, mean}, Median: l.Quantile(0.5), units: ranks, perUnit: 1}
	_ = d.list(func(f []int) ([]loss, error) {
		out := make([]loss, len(f))
		for i := range f {
			by := l.By(f[i])
			out[i] = loss{Probability: by, Low: by, High: by, Bound: by}
		}
		return out, nil
	})
	return d
}

func simulatedLosses(s replica.Simulation, l *replica.Losses, units int) (*losses, error) {
	mean, ranks := l.Mean(), interval(l.MeanRanks())
	d := &losses{
		Method: "simulation", Trials: s.Trials, Seed: &s.Seed, Mean: interval(mean), Median: l.Quantile(0.5),
		units: units, perUnit: float64(s.Ranks) / float64(units),
	}
	if s.ByNode {
		d.Ranks = &ranks
	}
	return d, d.list(func(f []int) ([]loss, error) {
		bounds, err := s.Bound(f...)
		out := make([]loss, len(bounds))
		for i, bound := range bounds {
			by, bound := l.By(f[i]), min(bound, 1)
			out[i] = loss{Probability: min(by.Value, bound), Low: min(by.Low, bound), High: min(by.High, bound), Bound: bound}
		}
		return out, err
	})
}

// list makes the table and the curve, up to where a loss is certain.
func (l *losses) list(by func(f []int) ([]loss, error)) error {
	for _, part := range []struct {
		failed []int
		losses *[]loss
	}{{tabulated(l.units), &l.Failed}, {drawn(l.units), &l.curve}} {
		all, err := by(part.failed)
		if err != nil {
			return err
		}
		for i, one := range all {
			one.Failed, one.Share = part.failed[i], float64(part.failed[i])/float64(l.units)
			*part.losses = append(*part.losses, one)
			if one.Probability > certain {
				break
			}
		}
	}
	return nil
}

func (d replicaPlan) print(s *screen) {
	fmt.Fprintf(s, "ranks       %d\n", d.Ranks)
	if d.Nodes != nil {
		fmt.Fprintf(s, "nodes       %d\n", *d.Nodes)
	}
	fmt.Fprintf(s, "copies      %d\n", d.Copies)
	fmt.Fprintf(s, "lost after  %s\n", d.ByRank.expected("ranks"))
	if d.ByNode != nil {
		fmt.Fprintf(s, "            %s\n", d.ByNode.expected("nodes"))
	}
	if d.Costs != nil {
		fmt.Fprintf(s, "memory      %s of each rank, for %s of data; twice as much while it is submitted again\n", s.size(d.Costs.Memory), s.size(d.Bytes))
		fmt.Fprintf(s, "network     %v a message, %s/s of a rank, %s/s of a node with %d ranks\n", time.Duration(d.Costs.Network.Latency*float64(time.Second)),
			rate(d.Costs.Network.RankBandwidth), rate(d.Costs.Network.NodeBandwidth), d.Costs.Network.RanksPerNode)
	}
	s.show(d.ByRank.table("RANKS"), s.width)
	if d.ByNode != nil {
		s.show(d.ByNode.table("NODES"), s.width)
	}
	if d.Costs == nil {
		return
	}
	t := newTable(left("OPERATION"), right("TIME"), right("SENT"), right("RECEIVED"), right("MESSAGES SENT").drop(2), right("MESSAGES RECEIVED").drop(1))
	for _, o := range d.Costs.Operations {
		t.add(o.Operation, duration(o.Seconds), s.size(o.Sent), s.size(o.Received), strconv.FormatInt(o.MessagesSent, 10), strconv.FormatInt(o.MessagesReceived, 10))
	}
	s.show(t, s.width)
}

// expected says after how many failures data is expected to be lost.
func (l *losses) expected(units string) string {
	text := fmt.Sprintf("%s %s on average (%s)", digits(l.Mean.Value, 4), units, percent(l.Mean.Value/float64(l.units)))
	if l.Method == "formula" {
		return text
	}
	return fmt.Sprintf("%s, %s to %s in a simulation of %d trials", text, digits(l.Mean.Low, 4), digits(l.Mean.High, 4), l.Trials)
}

func (l *losses) table(units string) table {
	columns := []column{right(units), right("SHARE"), right("PROBABILITY")}
	if l.Method != "formula" {
		columns = append(columns, right("INTERVAL"), right("AT MOST"))
	}
	t := newTable(columns...)
	for _, f := range l.Failed {
		row := []string{strconv.Itoa(f.Failed), percent(f.Share), digits(f.Probability, 3)}
		if l.Method != "formula" {
			row = append(row, digits(f.Low, 3)+" to "+digits(f.High, 3), digits(f.Bound, 3))
		}
		t.add(row...)
	}
	return t
}

// rate writes bytes per second in powers of 1000, as those of networks are.
func rate(bytes float64) string { return humanize.SIWithDigits(bytes, 2, "B") }

func percent(share float64) string { return digits(100*share, 3) + "%" }

// digits writes a number with so many that count.
func digits(v float64, n int) string { return strconv.FormatFloat(v, 'g', n, 64) }

// leastShown is the smallest probability in a chart.
const leastShown = 1e-9

// chart draws the tables, over the ranks that have failed.
func (d replicaPlan) chart() chart.Chart {
	c := chart.Chart{
		Title: fmt.Sprintf("Loss of data with %d copies on %s ranks", d.Copies, humanize.Comma(int64(d.Ranks))),
		Y:     chart.Axis{Label: "probability that data is lost", Log: true, Min: leastShown, Max: 1},
	}
	c.Curves = d.ByRank.curves("single ranks")
	if d.ByNode != nil {
		c.Title += fmt.Sprintf(", %s nodes", humanize.Comma(int64(*d.Nodes)))
		c.Curves = append(c.Curves, d.ByNode.curves("whole nodes")...)
	}
	most := 10.0
	for _, curve := range c.Curves {
		for most < curve.X[len(curve.X)-1] {
			most *= 10
		}
	}
	c.X = chart.Axis{Label: "ranks that have failed", Log: true, Min: 1, Max: most}
	return c
}

// curves are the probability, and that which it is at most where it is simulated.
func (l *losses) curves(fail string) []chart.Curve {
	simulated := l.Method != "formula"
	probability, bound := chart.Curve{Name: fail + " fail"}, chart.Curve{Name: fail + " fail: at most", Dashed: true}
	for _, one := range l.curve {
		x := float64(one.Failed) * l.perUnit
		if one.Probability > leastShown {
			probability.X, probability.Y = append(probability.X, x), append(probability.Y, one.Probability)
			probability.Low, probability.High = append(probability.Low, one.Low), append(probability.High, one.High)
		}
		if one.Bound > leastShown {
			bound.X, bound.Y = append(bound.X, x), append(bound.Y, one.Bound)
		}
	}
	if !simulated {
		probability.Low, probability.High = nil, nil
		return []chart.Curve{probability}
	}
	probability.Name += " (simulation, 95%)"
	return []chart.Curve{probability, bound}
}
