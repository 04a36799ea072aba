import type { CellField } from './filter-terms.ts';

/** The row height that the user has chosen in the preferences. */
export type Density = 'compact' | 'comfortable';

export const ROW_HEIGHTS: Readonly<Record<Density, number>> = { compact: 28, comfortable: 36 };
export const ROW_CLASSES: Readonly<Record<Density, string>> = { compact: 'h-7', comfortable: 'h-9' };

/** The columns that users can show and hide. The URL contains these names. */
export const OPTIONAL_COLUMNS = ['body', 'duration', 'size', 'endpoint', 'id'] as const;
export type OptionalColumn = (typeof OPTIONAL_COLUMNS)[number];
export const DEFAULT_COLUMNS: readonly OptionalColumn[] = ['duration', 'size', 'endpoint'];

export interface Column {
  readonly field: CellField | 'body';
  readonly label: string;
  /** Classes for the width, and for showing the column only if the list is wide enough. */
  readonly look: string;
  readonly align?: 'end';
}

/** All columns in display order. The path and the body share the remaining width. */
export const COLUMNS: readonly Column[] = [
  { field: 'time', label: 'Time', look: 'flex w-26 @lg:w-30 shrink-0' },
  { field: 'method', label: 'Method', look: 'flex w-15 shrink-0' },
  { field: 'status', label: 'Status', look: 'flex w-15 @lg:w-18 shrink-0' },
  { field: 'path', label: 'Path', look: 'flex flex-1' },
  { field: 'body', label: 'Body', look: 'hidden @4xl:flex flex-2' },
  { field: 'duration', label: 'Duration', look: 'hidden @lg:flex w-32 shrink-0', align: 'end' },
  { field: 'size', label: 'Size', look: 'hidden @2xl:flex w-18 shrink-0', align: 'end' },
  { field: 'endpoint', label: 'Endpoint', look: 'hidden @3xl:flex w-44 shrink-0 pl-2' },
  { field: 'id', label: 'ID', look: 'hidden @4xl:flex w-70 shrink-0 pl-2' },
];

export const isOptional = (field: Column['field']): field is OptionalColumn =>
  OPTIONAL_COLUMNS.some((optional) => optional === field);

/** Returns the shown columns in display order. */
export const shownColumns = (chosen: readonly OptionalColumn[]): readonly Column[] =>
  COLUMNS.filter(({ field }) => !isOptional(field) || chosen.includes(field));

export const ROW_LOOK = 'flex items-center px-3';
