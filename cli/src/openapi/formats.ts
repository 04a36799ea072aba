import { isIPv4, isIPv6 } from 'node:net';
import { parseInstant } from '@standin/contract';

/** RFC 3339. */
const DATE_TIME = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d(?:\.\d+)?)([Zz]|[+-]\d\d:\d\d)$/;
const HOST_LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** Checks of `format`, each in linear time. Other formats say what a value means, not how it is written. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && parseInstant(`${text}T00:00:00Z`) !== undefined,
  'date-time': (text) => {
    const [, day, time, offset] = DATE_TIME.exec(text) ?? [];
    return day !== undefined && parseInstant(`${day}T${time}${offset?.toUpperCase()}`) !== undefined;
  },
  uuid: (text) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  hostname: (text) => text.length <= 253 && text.split('.').every((label) => HOST_LABEL.test(label)),
  ipv4: isIPv4,
  ipv6: isIPv6,
  uri: (text) => /^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]*$/.test(text),
  'uri-reference': (text) => !/[\s<>"{}|\\^`]/.test(text),
  byte: (text) => /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0,
};

const INTEGERS: Readonly<Record<string, number>> = { int32: 2 ** 31, int64: 2 ** 63 };

/** Returns whether a string or a number is in a format. */
export const isInFormat = (value: string | number, format: string): boolean => {
  if (typeof value === 'number') {
    const limit = Object.hasOwn(INTEGERS, format) ? INTEGERS[format] : undefined;
    return (
      limit === undefined ||
      (Number.isInteger(value) && value >= -limit && value <= limit - (limit === 2 ** 31 ? 1 : 0))
    );
  }
  const check = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  return check === undefined || check(value);
};
