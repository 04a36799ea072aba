/** The number of hash table slots per node. With half of them free, most lookups end at the first slot. */
const SLOTS_PER_NODE = 2;
const ROOT = 0;

/**
 * Finds any of many strings in one pass over a string (Aho and Corasick, 1975). The time does not increase with the number of
 * strings, and no input makes it slow. Characters are bytes. The nodes of the tree are in flat arrays, and its edges are in one
 * hash table.
 */
export class NeedleSearch {
  /** The key of an edge (node × 256 + byte), or -1 for a free slot. */
  readonly #edges: Int32Array;
  readonly #targets: Int32Array;
  readonly #shift: number;
  #nodes = 1;
  readonly #parents: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #depths: Int32Array;
  /** The node of the longest suffix that is also a node. */
  readonly #suffixes: Int32Array;
  /** The length of the longest needle that ends at a node, or 0 if none does. */
  readonly #lengths: Int32Array;

  constructor(needles: readonly string[]) {
    const nodesMax = needles.reduce((sum, { length }) => sum + length, 1);
    const slotBits = Math.max(4, Math.ceil(Math.log2(nodesMax * SLOTS_PER_NODE)));
    this.#shift = 32 - slotBits;
    this.#edges = new Int32Array(2 ** slotBits).fill(-1);
    this.#targets = new Int32Array(2 ** slotBits);
    this.#parents = new Int32Array(nodesMax);
    this.#bytes = new Uint8Array(nodesMax);
    this.#depths = new Int32Array(nodesMax);
    this.#suffixes = new Int32Array(nodesMax);
    this.#lengths = new Int32Array(nodesMax);
    for (const needle of needles) this.#insert(needle);
    for (const node of this.#byDepth()) this.#link(node);
  }

  /**
   * Calls `onFound` with [start, end) of the longest needle that ends at each position. Returns the number of characters at the
   * end of `text` that are the beginning of a needle.
   */
  search(text: string, onFound: (start: number, end: number) => void): number {
    let node = ROOT;
    for (let at = 0; at < text.length; at += 1) {
      node = this.#step(node, text.charCodeAt(at));
      const length = this.#lengths[node] ?? 0;
      if (length > 0) onFound(at + 1 - length, at + 1);
    }
    return this.#depths[node] ?? 0;
  }

  /** Returns the slot of an edge, or the free slot for it. */
  #slot(edge: number): number {
    let slot = Math.imul(edge, 0x9e37_79b1) >>> this.#shift;
    while (this.#edges[slot] !== edge && this.#edges[slot] !== -1) slot = (slot + 1) % this.#edges.length;
    return slot;
  }

  /** Returns a node's child for this byte, or -1 if there is none. */
  #child(node: number, byte: number): number {
    const slot = this.#slot(node * 256 + byte);
    return this.#edges[slot] === -1 ? -1 : (this.#targets[slot] ?? -1);
  }

  #insert(needle: string): void {
    let node = ROOT;
    for (let at = 0; at < needle.length; at += 1) {
      const byte = needle.charCodeAt(at);
      const slot = this.#slot(node * 256 + byte);
      if (this.#edges[slot] === -1) {
        this.#edges[slot] = node * 256 + byte;
        this.#targets[slot] = this.#nodes;
        this.#parents[this.#nodes] = node;
        this.#bytes[this.#nodes] = byte;
        this.#depths[this.#nodes] = at + 1;
        this.#nodes += 1;
      }
      node = this.#targets[slot] ?? ROOT;
    }
    this.#lengths[node] = needle.length;
  }

  /** Returns all nodes, grouped by depth (a counting sort). */
  #byDepth(): Int32Array {
    const depths = this.#depths.subarray(0, this.#nodes);
    const places = new Int32Array(depths.reduce((max, depth) => Math.max(max, depth), 0) + 2);
    for (const depth of depths) places[depth + 1] = (places[depth + 1] ?? 0) + 1;
    for (let depth = 1; depth < places.length; depth += 1)
      places[depth] = (places[depth] ?? 0) + (places[depth - 1] ?? 0);
    const sorted = new Int32Array(this.#nodes);
    for (const [node, depth] of depths.entries()) {
      const place = places[depth] ?? 0;
      sorted[place] = node;
      places[depth] = place + 1;
    }
    return sorted;
  }

  /**
   * Sets the suffix of a node and the length of the longest needle that ends at it. This must already be done for all nodes with
   * less depth.
   */
  #link(node: number): void {
    if ((this.#depths[node] ?? 0) > 1)
      this.#suffixes[node] = this.#step(this.#suffixes[this.#parents[node] ?? ROOT] ?? ROOT, this.#bytes[node] ?? 0);
    this.#lengths[node] ||= this.#lengths[this.#suffixes[node] ?? ROOT] ?? 0;
  }

  #step(from: number, byte: number): number {
    let node = from;
    for (;;) {
      const child = this.#child(node, byte);
      if (child !== -1) return child;
      if (node === ROOT) return ROOT;
      node = this.#suffixes[node] ?? ROOT;
    }
  }
}
