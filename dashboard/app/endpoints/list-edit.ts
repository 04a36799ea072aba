/** The name of the buttons that change a list. */
export const LIST_EDIT = 'edit';

/** A change to a list that a button makes. */
export type ListEdit =
  { readonly kind: 'add' } | { readonly kind: 'duplicate' | 'remove' | 'up' | 'down'; readonly index: number };

/** Reads the value of a button, such as `add` or `up 2`. */
export const readListEdit = (value: unknown): ListEdit | undefined => {
  if (value === 'add') return { kind: 'add' };
  const [, kind, index] = /^(duplicate|remove|up|down) (\d{1,4})$/.exec(typeof value === 'string' ? value : '') ?? [];
  if (kind === undefined) return undefined;
  return { kind: kind as 'duplicate' | 'remove' | 'up' | 'down', index: Number(index) };
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
