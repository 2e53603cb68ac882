// Lays out a graph of `size` nodes, and counts boxes that overlap and edges that run through the box of a foreign node.
(async (size) => {
  const { around, positions, BOX } = await import("/page/layout.js");
  let state = size;
  const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const nodes = [];
  for (let place = 0; place < size; place += 1) {
    const parent = nodes[Math.floor(random() * Math.min(place, size / 8 + 1))] ?? null;
    const node = { node_id: String(place), parent, children: [] };
    parent?.children.push(node);
    nodes.push(node);
  }
  const any = () => nodes[Math.floor(random() * size)];
  const relations = Array.from({ length: size / 5 }, () => ({ from: any(), to: any(), relation: "knows", strength: 1 }));
  const graph = { nodes: new Map(nodes.map((node) => [node.node_id, node])), relations: relations.filter(({ from, to }) => from !== to) };
  const found = around(graph, nodes[0], Infinity, size);
  const { at, edges } = positions(graph, found);
  const sides = (node) => {
    const { x, y } = at.get(node);
    return [x - BOX.width / 2, y - BOX.height / 2, x + BOX.width / 2, y + BOX.height / 2];
  };
  // Liang and Barsky's clipping of a line by a box.
  const meets = (start, end, [left, top, right, bottom]) => {
    let [from, to] = [0, 1];
    const [across, down] = [end.x - start.x, end.y - start.y];
    for (const [step, room] of [[-across, start.x - left], [across, right - start.x], [-down, start.y - top], [down, bottom - start.y]]) {
      if (step === 0 && room <= 0) return false;
      if (step < 0) from = Math.max(from, room / step);
      if (step > 0) to = Math.min(to, room / step);
    }
    return to - from > 1e-9;
  };
  const passes = ({ from, to, bends }, node) => {
    if (node === from || node === to) return false;
    const [start, end] = [at.get(from), at.get(to)];
    const half = (Math.sign(end.x - start.x) * BOX.width) / 2;
    const line = [{ x: start.x + half, y: start.y }, ...bends, { x: end.x - half, y: end.y }];
    return line.slice(1).some((point, place) => meets(line[place], point, sides(node)));
  };
  const shown = [...found.keys()];
  const covers = ([left, top, right, bottom], [otherLeft, otherTop, otherRight, otherBottom]) =>
    left < otherRight && otherLeft < right && top < otherBottom && otherTop < bottom;
  return {
    nodes: shown.length,
    edges: edges.length,
    overlaps: shown.filter((one, place) => shown.slice(place + 1).some((other) => covers(sides(one), sides(other)))).length,
    through: edges.filter((edge) => shown.some((node) => passes(edge, node))).length,
  };
})
