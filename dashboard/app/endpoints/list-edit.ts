/** The name of the buttons that change a list. */
export const LIST_EDIT = 'edit';

/** The change to a list that a button requests. `open` only shows an item. */
export type ListEdit =
  { readonly kind: 'add' } | { readonly kind: 'duplicate' | 'remove' | 'up' | 'down' | 'open'; readonly index: number };

/** Reads the value of a button, such as `add` or `up 2`. */
export const readListEdit = (value: unknown): ListEdit | undefined => {
  if (value === 'add') return { kind: 'add' };
  const [, kind, index] =
    /^(duplicate|remove|up|down|open) (\d{1,4})$/.exec(typeof value === 'string' ? value : '') ?? [];
  if (kind === undefined) return undefined;
  return { kind: kind as Exclude<ListEdit['kind'], 'add'>, index: Number(index) };
};

/** Returns the value of a button. `readListEdit` reads it. */
export const listEditText = (edit: ListEdit): string => (edit.kind === 'add' ? 'add' : `${edit.kind} ${edit.index}`);

/** Returns the changed list. `create` returns a new item, or a copy of an item. An index that does not exist changes nothing. */
export const editList = <Item>(
  items: readonly Item[],
  edit: ListEdit,
  create: (copied: Item | undefined) => Item,
): readonly Item[] => {
  if (edit.kind === 'add') return [...items, create(undefined)];
  const { kind, index } = edit;
  const item = items[index];
  if (item === undefined) return items;
  switch (kind) {
    case 'open':
      return items;
    case 'duplicate':
      return items.toSpliced(index + 1, 0, create(item));
    case 'remove':
      return items.toSpliced(index, 1);
    case 'up':
      return index === 0 ? items : items.toSpliced(index, 1).toSpliced(index - 1, 0, item);
    case 'down':
      return items.toSpliced(index, 1).toSpliced(index + 1, 0, item);
  }
};

/** Returns the index of the item that the user continues with. `count` is the number of items before the change. */
export const editedIndex = (edit: ListEdit, count: number): number => {
  switch (edit.kind) {
    case 'add':
      return count;
    case 'duplicate':
    case 'down':
      return edit.index + 1;
    case 'up':
      return edit.index - 1;
    case 'remove':
      return Math.min(edit.index, count - 2);
    case 'open':
      return edit.index;
  }
};
