package replica

import (
	"context"
	"fmt"
	"math"
)

// Grid is how a matrix in two dimensions is submitted: cut into tiles, which are the blocks, by ranks that
// stand in rows and columns themselves. Tiles of one rank have numbers in a row.
type Grid struct {
	Rows, Cols         int64 // of elements
	Elem               int   // bytes of an element
	TileRows, TileCols int64 // elements of a tile; the last ones may have fewer
	RankRows, RankCols int   // ranks that submit: rank a*RankCols+b has the a-th share of the tiles' rows and the b-th of their columns
}

// Box is a rectangle of a matrix.
type Box struct{ Rows, Cols Range }

// Check is what is wrong with a grid for so many ranks; it matches ErrBlocks.
func (g Grid) Check(ranks int) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: grid: %s", ErrBlocks, fmt.Sprintf(format, args...))
	}
	switch {
	case g.Rows < 1 || g.Cols < 1 || g.Elem < 1:
		return bad("%d x %d elements of %d bytes: allowed are 1 or more of each", g.Rows, g.Cols, g.Elem)
	case g.TileRows < 1 || g.TileCols < 1 || g.TileRows > math.MaxInt32/g.TileCols/int64(g.Elem):
		return bad("tiles of %d x %d elements of %d bytes: allowed are 1 or more of each, and %d bytes in all", g.TileRows, g.TileCols, g.Elem, math.MaxInt32)
	case g.RankRows < 1 || g.RankCols < 1 || g.RankRows != ranks/g.RankCols || ranks%g.RankCols != 0:
		return bad("%d x %d ranks: their product must be the number of ranks, %d", g.RankRows, g.RankCols, ranks)
	}
	return nil
}

// tiles is the number of tiles in each direction.
func (g Grid) tiles() (rows, cols int64) {
	return (g.Rows + g.TileRows - 1) / g.TileRows, (g.Cols + g.TileCols - 1) / g.TileCols
}

// share are the tiles of a rank.
func (g Grid) share(rank int) Box {
	rows, cols := g.tiles()
	return Box{Even(rows, g.RankRows, rank/g.RankCols), Even(cols, g.RankCols, rank%g.RankCols)}
}

// Own are the elements that a rank submits.
func (g Grid) Own(rank int) Box {
	s := g.share(rank)
	return Box{
		Range{min(s.Rows.Lo*g.TileRows, g.Rows), min(s.Rows.Hi*g.TileRows, g.Rows)},
		Range{min(s.Cols.Lo*g.TileCols, g.Cols), min(s.Cols.Hi*g.TileCols, g.Cols)},
	}
}

// first is the number of a rank's first tile.
func (g Grid) first(rank int) int64 {
	_, cols := g.tiles()
	s := g.share(rank)
	return s.Rows.Lo*cols + s.Rows.Len()*s.Cols.Lo
}

// size is that of a tile.
func (g Grid) size() int { return int(g.TileRows*g.TileCols) * g.Elem }

// Blocks are what a rank submits of its Own elements, which lie row by row in data.
func (g Grid) Blocks(rank int, data []byte) (Blocks, error) {
	own, share, first := g.Own(rank), g.share(rank), g.first(rank)
	if want := own.Rows.Len() * own.Cols.Len() * int64(g.Elem); int64(len(data)) != want {
		return Blocks{}, fmt.Errorf("%w: grid: rank %d has given %d bytes, its elements have %d", ErrBlocks, rank, len(data), want)
	}
	rows, cols := g.tiles()
	return Blocks{
		N: rows * cols, Size: g.size(), First: first, Count: share.Rows.Len() * share.Cols.Len(),
		Fill: func(id int64, block []byte) error {
			i, j := (id-first)/share.Cols.Len(), (id-first)%share.Cols.Len()
			tile := g.tile(share.Rows.Lo+i, share.Cols.Lo+j)
			clear(block)
			g.copyRows(tile, block, tile.Cols.Lo, tile.Rows.Lo, g.TileCols, data, own.Cols.Lo, own.Rows.Lo, own.Cols.Len())
			return nil
		},
	}, nil
}

// tile are the elements of a tile.
func (g Grid) tile(i, j int64) Box {
	return Box{Range{i * g.TileRows, min((i+1)*g.TileRows, g.Rows)}, Range{j * g.TileCols, min((j+1)*g.TileCols, g.Cols)}}
}

// copyRows copies the elements of a box between two pieces of memory, of which it is said where they begin
// in the matrix and how many elements a row has.
func (g Grid) copyRows(b Box, to []byte, toCol, toRow, toWidth int64, from []byte, fromCol, fromRow, fromWidth int64) {
	n := int(b.Cols.Len()) * g.Elem
	for row := b.Rows.Lo; row < b.Rows.Hi; row++ {
		t := int((row-toRow)*toWidth+b.Cols.Lo-toCol) * g.Elem
		f := int((row-fromRow)*fromWidth+b.Cols.Lo-fromCol) * g.Elem
		copy(to[t:t+n], from[f:f+n])
	}
}

// within calls yield for each tile that a box touches, in the order of their numbers.
func (g Grid) within(b Box, yield func(id int64, tile Box)) {
	for rank := range g.RankRows * g.RankCols {
		s, own := g.share(rank), g.Own(rank)
		if own.intersect(b).empty() {
			continue
		}
		for i := s.Rows.Lo; i < s.Rows.Hi; i++ {
			for j := s.Cols.Lo; j < s.Cols.Hi; j++ {
				if tile := g.tile(i, j); !tile.intersect(b).empty() {
					yield(g.first(rank)+(i-s.Rows.Lo)*s.Cols.Len()+j-s.Cols.Lo, tile)
				}
			}
		}
	}
}

func (b Box) intersect(c Box) Box {
	return Box{
		Range{max(b.Rows.Lo, c.Rows.Lo), min(b.Rows.Hi, c.Rows.Hi)},
		Range{max(b.Cols.Lo, c.Cols.Lo), min(b.Cols.Hi, c.Cols.Hi)},
	}
}

func (b Box) empty() bool { return b.Rows.Len() <= 0 || b.Cols.Len() <= 0 }

// Ranges are the blocks that a box touches.
func (g Grid) Ranges(b Box) []Range {
	var out []Range
	g.within(b, func(id int64, _ Box) { out = append(out, Range{id, id + 1}) })
	return merge(out)
}

// LoadBox loads the elements of a box, which may be empty, into dst, row by row. It is collective, as
// Load is. The grid is the one that was submitted.
func (s *Store) LoadBox(ctx context.Context, g Grid, b Box, dst []byte) error {
	given := ErrEmpty
	if v, err := s.read(); err == nil {
		given = g.checkBox(b, dst, v.layout.geo)
	}
	var ranges []Range
	if given == nil {
		ranges = g.Ranges(b)
	} else {
		ranges = []Range{{-1, -1}} // is refused by all ranks
	}
	got, err := s.Load(ctx, nil, ranges...)
	if given != nil && err != nil {
		return given
	}
	at := 0
	if got.Len() > 0 {
		g.within(b, func(_ int64, tile Box) {
			g.copyRows(tile.intersect(b), dst, b.Cols.Lo, b.Rows.Lo, b.Cols.Len(), got.Block(at), tile.Cols.Lo, tile.Rows.Lo, g.TileCols)
			at++
		})
	}
	return err
}

func (g Grid) checkBox(b Box, dst []byte, submitted *geometry) error {
	if err := g.Check(g.RankRows * g.RankCols); err != nil {
		return err
	}
	rows, cols := g.tiles()
	switch all := (Box{Range{0, g.Rows}, Range{0, g.Cols}}); {
	case rows*cols != submitted.n || g.size() != submitted.size:
		return fmt.Errorf("%w: grid of %d tiles of %d bytes, and %d blocks of %d were submitted", ErrRange, rows*cols, g.size(), submitted.n, submitted.size)
	case b.empty():
		return nil
	case b.intersect(all) != b:
		return fmt.Errorf("%w: rows %v, columns %v of a matrix of %d x %d", ErrRange, b.Rows, b.Cols, g.Rows, g.Cols)
	case int64(len(dst)) != b.Rows.Len()*b.Cols.Len()*int64(g.Elem):
		return fmt.Errorf("%w: %d bytes of memory for %d x %d elements of %d bytes", ErrRange, len(dst), b.Rows.Len(), b.Cols.Len(), g.Elem)
	}
	return nil
}
