/** Names of what is in a spool's folders. Segments are numbered in the order in which they were begun. */
const SEGMENT = /^(\d{10})\.seg$/;

export const segmentName = (number: number): string => `${String(number).padStart(10, '0')}.seg`;

export const isSegmentName = (name: string): boolean => SEGMENT.test(name);
