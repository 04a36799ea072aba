/** The types of the values that were seen at a place in JSON documents. */
export interface Shape {
  readonly types: Set<ValueType>;
  /** The number of objects that were seen here. */
  objects: number;
  readonly members: Map<string, { readonly shape: Shape; count: number }>;
  /** Of all elements of arrays. Undefined if no array had any. */
  items: Shape | undefined;
  /** Whether the names of members are data, such as ids, because there are so many. */
  isMap: boolean;
  /** How many shapes there are in the outermost one. All of them share this object. */
  readonly total: { shapes: number };
}

type ValueType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

/** Objects with more different names than this are compared as maps, regardless of their names. */
const MEMBERS_MAX = 1_000;
/** In one shape. Maps of maps, whose names are data, have many more, and each takes about 700 bytes. */
const SHAPES_MAX = 10_000;
/** Deeper values are not compared, as the stack is limited. */
const DEPTH_MAX = 100;

export const emptyShape = (total = { shapes: 1 }): Shape => ({
  types: new Set(),
  objects: 0,
  members: new Map(),
  items: undefined,
  isMap: false,
  total,
});

const innerShape = ({ total }: Shape): Shape => {
  total.shapes += 1;
  return emptyShape(total);
};

const valueType = (value: unknown): ValueType => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'boolean' || type === 'number' || type === 'string' ? type : 'object';
};

/** Adds a parsed JSON value. */
export const addToShape = (shape: Shape, value: unknown): void => {
  addValue(shape, value, 0);
  for (let max = MEMBERS_MAX / 2; shape.total.shapes > SHAPES_MAX && max > 1; max /= 2) {
    limitMembers(shape, max, 0);
    shape.total.shapes = shapeCount(shape);
  }
};

const addValue = (shape: Shape, value: unknown, depth: number): void => {
  shape.types.add(valueType(value));
  if (depth === DEPTH_MAX || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) addValue((shape.items ??= innerShape(shape)), item, depth + 1);
    return;
  }
  shape.objects += 1;
  for (const [name, inner] of Object.entries(value)) {
    const key = shape.isMap ? '*' : name;
    const member = shape.members.get(key) ?? { shape: innerShape(shape), count: 0 };
    shape.members.set(key, member);
    member.count += 1;
    addValue(member.shape, inner, depth + 1);
    if (shape.members.size > MEMBERS_MAX) becomeMap(shape);
  }
};

/** Keeps only the shape of the values. */
const becomeMap = (shape: Shape): void => {
  const all = innerShape(shape);
  for (const { shape: member } of shape.members.values()) merge(all, member);
  shape.isMap = true;
  shape.members.clear();
  shape.members.set('*', { shape: all, count: 0 });
};

/** Makes maps of all objects with more names than this, the outer ones first. At the end, forgets what is deepest. */
const limitMembers = (shape: Shape, max: number, depth: number): void => {
  if (depth > Math.max(max, 10)) {
    shape.isMap = true;
    shape.items = undefined;
    shape.members.clear();
  }
  if (shape.members.size > max) becomeMap(shape);
  for (const inner of innerShapes(shape)) limitMembers(inner, max, depth + 1);
};

const innerShapes = ({ items, members }: Shape): readonly Shape[] => [
  ...(items === undefined ? [] : [items]),
  ...Array.from(members.values(), ({ shape }) => shape),
];
const shapeCount = (shape: Shape): number => innerShapes(shape).reduce((sum, inner) => sum + shapeCount(inner), 1);

const merge = (into: Shape, from: Shape): void => {
  for (const type of from.types) into.types.add(type);
  into.objects += from.objects;
  if (from.items !== undefined) merge((into.items ??= innerShape(into)), from.items);
  for (const [name, { shape, count }] of from.members) {
    const member = into.members.get(name) ?? { shape: innerShape(into), count: 0 };
    into.members.set(name, member);
    member.count += count;
    merge(member.shape, shape);
  }
  into.isMap ||= from.isMap;
  if (into.members.size > MEMBERS_MAX) becomeMap(into);
};

const typeText = ({ types }: Shape): string => [...types].sort().join(' or ');

/**
 * Returns what differs between the values that were captured and those of a mock, such as `$.items[*].price: string → number`. A mock is
 * an example: it need not have members that some captured values lack, or all types that they have. An empty array has no elements to
 * compare.
 */
export const compareShapes = (captured: Shape, mock: Shape, path = '$'): readonly string[] => {
  if ([...mock.types].some((type) => !captured.types.has(type)))
    return [`${path}: ${typeText(captured)} → ${typeText(mock)}`];
  const items =
    captured.items === undefined || mock.items === undefined
      ? []
      : compareShapes(captured.items, mock.items, `${path}[*]`);
  return captured.objects === 0 || mock.objects === 0 ? items : [...items, ...compareMembers(captured, mock, path)];
};

const compareMembers = (captured: Shape, mock: Shape, path: string): readonly string[] => {
  if (captured.isMap || mock.isMap) {
    const [before, after] = [captured, mock].map(memberValues);
    return before === undefined || after === undefined ? [] : compareShapes(before, after, `${path}.*`);
  }
  return [...new Set([...captured.members.keys(), ...mock.members.keys()])].flatMap((name) => {
    const [before, after] = [captured.members.get(name), mock.members.get(name)];
    const at = /^[A-Za-z_]\w*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
    if (before === undefined) return after === undefined ? [] : [`${at}: absent → ${typeText(after.shape)}`];
    const isAlways = before.count === captured.objects;
    if (after === undefined || (isAlways && after.count < mock.objects))
      return isAlways ? [`${at}: ${typeText(before.shape)} → absent`] : [];
    return compareShapes(before.shape, after.shape, at);
  });
};

/** Returns the shape of all members' values. */
const memberValues = ({ members }: Shape): Shape | undefined => {
  if (members.size === 0) return undefined;
  const all = emptyShape();
  for (const { shape } of members.values()) merge(all, shape);
  return all;
};
