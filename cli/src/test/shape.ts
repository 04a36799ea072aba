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
}

type ValueType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

/** Objects with more different names than this are compared as maps, regardless of their names. */
const MEMBERS_MAX = 1_000;
/** Deeper values are not compared, as the stack is limited. */
const DEPTH_MAX = 100;

export const emptyShape = (): Shape => ({
  types: new Set(),
  objects: 0,
  members: new Map(),
  items: undefined,
  isMap: false,
});

const valueType = (value: unknown): ValueType => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'boolean' || type === 'number' || type === 'string' ? type : 'object';
};

/** Adds a parsed JSON value. */
export const addToShape = (shape: Shape, value: unknown, depth = 0): void => {
  shape.types.add(valueType(value));
  if (depth === DEPTH_MAX || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) addToShape((shape.items ??= emptyShape()), item, depth + 1);
    return;
  }
  shape.objects += 1;
  for (const [name, inner] of Object.entries(value)) {
    const key = shape.isMap ? '*' : name;
    const member = shape.members.get(key) ?? { shape: emptyShape(), count: 0 };
    shape.members.set(key, member);
    member.count += 1;
    addToShape(member.shape, inner, depth + 1);
    if (shape.members.size > MEMBERS_MAX) becomeMap(shape);
  }
};

/** Keeps only the shape of the values. */
const becomeMap = (shape: Shape): void => {
  const all = emptyShape();
  for (const { shape: member } of shape.members.values()) merge(all, member);
  shape.isMap = true;
  shape.members.clear();
  shape.members.set('*', { shape: all, count: 0 });
};

const merge = (into: Shape, from: Shape): void => {
  for (const type of from.types) into.types.add(type);
  into.objects += from.objects;
  if (from.items !== undefined) merge((into.items ??= emptyShape()), from.items);
  for (const [name, { shape, count }] of from.members) {
    const member = into.members.get(name) ?? { shape: emptyShape(), count: 0 };
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
