import { celFunc, celMethod, CelScalar, objectType, type CelFunc, type CelValue } from '@bufbuild/cel';
import { create } from '@bufbuild/protobuf';
import { DurationSchema, TimestampSchema, type Duration, type Timestamp } from '@bufbuild/protobuf/wkt';
import { dayOfYear, parseTimeLayout, zoneOffsetMs } from './time-layout.ts';

const { INT, STRING } = CelScalar;
const TIMESTAMP = objectType(TimestampSchema);
const DURATION = objectType(DurationSchema);
type CelTimestamp = CelValue<typeof TIMESTAMP>;

const NANOS_PER_SECOND = 1_000_000_000n;
/** The first second of the year 1, and the last one of the year 9999. */
const [SECONDS_MIN, SECONDS_MAX] = [-62_135_596_800n, 253_402_300_799n];

const timestampAt = (seconds: bigint, nanos = 0): Timestamp => {
  if (seconds < SECONDS_MIN || seconds > SECONDS_MAX) throw new Error('the timestamp is not in the years 1 to 9999');
  return create(TimestampSchema, { seconds, nanos });
};

const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d+))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

const parseCelTimestamp = (text: string): Timestamp => {
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHours = 0, offsetMinutes = 0] =
    RFC_3339.exec(text) ?? [];
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  // Date counts the 30th of February as a day in March.
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day))
    throw new Error('the string is not a timestamp such as 2023-08-26T12:39:00Z');
  date.setUTCHours(Number(hour), Number(minute), Number(second));
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '-' ? -60 : 60);
  return timestampAt(BigInt(date.getTime() / 1_000 - offset), Number(fraction.slice(0, 9).padEnd(9, '0')));
};

const durationIn = (nanos: bigint): Duration => {
  if (BigInt.asIntN(64, nanos) !== nanos) throw new Error('the duration is out of range of 292 years');
  return create(DurationSchema, { seconds: nanos / NANOS_PER_SECOND, nanos: Number(nanos % NANOS_PER_SECOND) });
};

const DURATION_TEXT = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|[uµμ]s|ms|[smh]))+)$/;
const DURATION_PART = /(\d*)(?:\.(\d*))?(ns|[uµμ]s|ms|[smh])/g;
/** More digits of a fraction are less than a nanosecond. */
const FRACTION_DIGITS_MAX = 18;

const nanosIn = (unit: string): bigint => {
  switch (unit) {
    case 'ns':
      return 1n;
    case 'ms':
      return 1_000_000n;
    case 's':
      return NANOS_PER_SECOND;
    case 'm':
      return 60n * NANOS_PER_SECOND;
    case 'h':
      return 3_600n * NANOS_PER_SECOND;
    default:
      return 1_000n;
  }
};

const parseCelDuration = (text: string): Duration => {
  if (!DURATION_TEXT.test(text)) throw new Error('the string is not a duration such as 1h30m or 1.5s');
  let nanos = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of text.matchAll(DURATION_PART)) {
    const digits = fraction.slice(0, FRACTION_DIGITS_MAX);
    nanos += BigInt(whole) * nanosIn(unit) + (BigInt(digits) * nanosIn(unit)) / 10n ** BigInt(digits.length);
  }
  return durationIn(text.startsWith('-') ? -nanos : nanos);
};

/** Returns a date whose fields in UTC are those that clocks in the time zone show. */
const dateIn = ({ message: { seconds, nanos } }: CelTimestamp, zone: string): Date => {
  const date = new Date(Number(seconds) * 1_000 + Math.floor(nanos / 1_000_000));
  return new Date(date.getTime() + (zone === 'UTC' ? 0 : zoneOffsetMs(zone, date)));
};

/** @param zone a time zone. Default: UTC */
const formatTime = (time: CelTimestamp, layout: string, zone?: string): string => {
  const write = parseTimeLayout(layout);
  const date = dateIn(time, zone ?? 'UTC');
  const offsetMs = zone === undefined ? undefined : date.getTime() - dateIn(time, 'UTC').getTime();
  return write({ date, nanos: time.message.nanos, offsetMs });
};

/** The functions that read a field of a date, in UTC or in the time zone that is their argument. */
const CALENDAR: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: dayOfYear,
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};
export const CALENDAR_FUNCTIONS: readonly string[] = Object.keys(CALENDAR);

const calendarFunctions = ([name, readField]: readonly [string, (date: Date) => number]): CelFunc[] => [
  celMethod(name, TIMESTAMP, [], INT, function () {
    return BigInt(readField(dateIn(this, 'UTC')));
  }),
  celMethod(name, TIMESTAMP, [STRING], INT, function (zone) {
    return BigInt(readField(dateIn(this, zone)));
  }),
];

/** Functions that the library makes depend on the time zone of the process, or that accept more, or count in other units, than CEL does. */
export const TIME_FUNCTIONS: CelFunc[] = [
  celFunc('formatTime', [TIMESTAMP, STRING], STRING, (time, layout) => formatTime(time, layout)),
  celFunc('formatTime', [TIMESTAMP, STRING, STRING], STRING, formatTime),
  celFunc('timestamp', [STRING], TIMESTAMP, parseCelTimestamp),
  celFunc('timestamp', [INT], TIMESTAMP, (seconds) => timestampAt(seconds)),
  celFunc('duration', [STRING], DURATION, parseCelDuration),
  celFunc('duration', [INT], DURATION, (seconds) => durationIn(seconds * NANOS_PER_SECOND)),
  ...Object.entries(CALENDAR).flatMap(calendarFunctions),
];
