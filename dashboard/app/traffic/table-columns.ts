import type { CellField } from './filter-terms.ts';

/** The row height that the user has chosen in the preferences. */
export type Density = 'compact' | 'comfortable';

export const ROW_HEIGHTS: Readonly<Record<Density, number>> = { compact: 28, comfortable: 36 };
export const ROW_CLASSES: Readonly<Record<Density, string>> = { compact: 'h-7', comfortable: 'h-9' };

export interface Column {
  readonly field: CellField;
  readonly label: string;
  /** Classes that show the column only if the list is wide enough. */
  readonly shown: string;
  readonly align?: 'end';
}

export const COLUMNS: readonly Column[] = [
  { field: 'time', label: 'Time', shown: '' },
  { field: 'method', label: 'Method', shown: '' },
  { field: 'status', label: 'Status', shown: '' },
  { field: 'path', label: 'Path', shown: '' },
  { field: 'duration', label: 'Duration', shown: 'hidden @lg:flex', align: 'end' },
  { field: 'size', label: 'Size', shown: 'hidden @2xl:flex', align: 'end' },
  { field: 'endpoint', label: 'Endpoint', shown: 'hidden @3xl:flex pl-2' },
];

/** Column widths. The path takes the remaining width. */
export const GRID =
  'grid items-center grid-cols-[6.5rem_3.75rem_3.75rem_minmax(0,1fr)] ' +
  '@lg:grid-cols-[7.5rem_3.75rem_4.5rem_minmax(0,1fr)_8rem] ' +
  '@2xl:grid-cols-[7.5rem_3.75rem_4.5rem_minmax(0,1fr)_8rem_4.5rem] ' +
  '@3xl:grid-cols-[7.5rem_3.75rem_4.5rem_minmax(0,1fr)_8rem_4.5rem_minmax(0,11rem)]';
