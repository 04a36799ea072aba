import { afterAll, describe, expect, test } from 'vitest';
import { parseExpression } from '../request-expressions.ts';
import { expressionsFor } from '../request-expressions.testing.ts';
import { ExpressionError } from './expression-error.ts';
import { celToJson } from './value-text.ts';

const evaluatedJson = (source: string): string => {
  const parsed = parseExpression(source, []);
  if (!parsed.ok) return 'refused';
  const value = expressionsFor().evaluate(parsed.expression);
  const json = value instanceof ExpressionError ? value : celToJson(value);
  return json instanceof ExpressionError ? 'error' : json;
};

/** Cases that the conformance suite does not have, and in which cel-go and the library differ. The values are those of cel-go. */
describe('as in cel-go,', () => {
  test.each([
    ['timestamp(1700000000)', '"2023-11-14T22:13:20Z"'],
    ['timestamp(int(now)) <= now && timestamp(int(now) - 1) < now && timestamp(int(now) + 1) > now', 'true'],
    ['timestamp(253402300799)', '"9999-12-31T23:59:59Z"'],
    ['timestamp(253402300800)', 'error'],
    ['timestamp(-62135596801)', 'error'],
    ['timestamp("2024-02-29T00:00:00Z")', '"2024-02-29T00:00:00Z"'],
    ['timestamp("2024-02-30T00:00:00Z")', 'error'],
    ['timestamp("2023-02-29T00:00:00Z")', 'error'],
    ['timestamp("1900-02-29T00:00:00Z")', 'error'],
    ['timestamp("2024-04-31T00:00:00Z")', 'error'],
    ['timestamp("2024-00-01T00:00:00Z")', 'error'],
    ['timestamp("2024-01-01T24:00:00Z")', 'error'],
    ['timestamp("2024-01-01T00:00:60Z")', 'error'],
    ['timestamp("2024-01-01T00:00:00+24:00")', 'error'],
    ['timestamp("2024-01-01T00:00:00+05:30")', '"2023-12-31T18:30:00Z"'],
    ['timestamp("2024-01-01T00:00:00.1234567899Z") == timestamp("2024-01-01T00:00:00.123456789Z")', 'true'],
    ['timestamp("")', 'error'],
    ['duration("")', 'error'],
    ['duration("-")', 'error'],
    ['duration("1")', 'error'],
    ['duration("1d")', 'error'],
    ['duration("1s ")', 'error'],
    ['[duration("0"), duration("-1h1.5ms"), duration(".5s"), duration("5.s"), duration("1μs")].size()', '5'],
    ['duration("-1.5h") == -1 * 5400 || duration("-1.5h") == duration("-90m")', 'refused'],
    ['duration("-1.5h") == duration("-90m")', 'true'],
    ['duration("9223372036854775807ns") > duration("292y")', 'error'],
    ['duration("9223372036854775808ns")', 'error'],
    ['duration("-9223372036854775808ns") < duration("0")', 'true'],
    ['duration(9223372037)', 'error'],
  ])('%s is %s', (source, expected) => {
    expect(evaluatedJson(source)).toBe(expected);
  });

  test.each([
    ['"a💡b".charAt(1)', '"💡"'],
    ['"a💡b".charAt(2)', '"b"'],
    ['"a💡b".charAt(3)', '""'],
    ['"a💡b".charAt(4)', 'error'],
    ['"a💡b".charAt(-1)', 'error'],
    ['"💡💡".size()', '2'],
    ['"💡b💡b".indexOf("b")', '1'],
    ['"💡b💡b".indexOf("b", 2)', '3'],
    ['"💡b💡b".indexOf("", 4)', '4'],
    ['"💡b💡b".lastIndexOf("💡")', '2'],
    ['"💡b💡b".lastIndexOf("b", 2)', '1'],
    ['"💡b💡b".lastIndexOf("b", 4)', '-1'],
    ['"💡b💡b".lastIndexOf("")', '4'],
    ['"💡b💡c".substring(2)', '"💡c"'],
    ['"💡b💡c".substring(1, 3)', '"b💡"'],
    ['"💡b".substring(2, 1)', 'error'],
    ['"💡b".substring(3)', 'error'],
    ['"a💡b".reverse()', '"b💡a"'],
    ['"💡" > "\\uffff" && "\\ue000" < "💡" && "a" < "💡" && "💡" <= "💡a" && "💡" >= "💡"', 'true'],
    ['strings.quote("\\000\\a\\"")', '"\\"\\u0000\\\\a\\\\\\"\\""'],
    ['string(b"\\xef\\xbb\\xbfa")', '"\ufeffa"'],
    ['"%s".format([b"\\xef\\xbb\\xbfa"])', '"\ufeffa"'],
  ])('characters after U+FFFF count once: %s is %s', (source, expected) => {
    expect(evaluatedJson(source)).toBe(expected);
  });

  test.each([
    ['"%e %e".format([0.00001, -1e-300])', '"1.000000e-05 -1.000000e-300"'],
    ['"%.0e %.0e %.0e".format([2.5, 3.5, 9.5])', '"2e+00 4e+00 1e+01"'],
    ['"%.1e %.2e %e".format([9.96, 9.999e22, 0.0])', '"1.0e+01 1.00e+23 0.000000e+00"'],
    ['"%.0f %.0f %.1f %f".format([0.5, 2.5, 0.25, 1e23])', '"0 2 0.2 99999999999999991611392.000000"'],
    ['"%f %e".format([3, 4u])', '"3.000000 4.000000e+00"'],
    ['"%d %s %s".format([1.5, 1e21, 1e-7])', '"1.5 1000000000000000000000 0.0000001"'],
    ['"%s".format([-0.0])', '"-0"'],
    ['"%s".format([{"b": 1, "B": 2, "💡": 3, "\\uffff": 4}])', '"{B: 2, b: 1, \uffff: 4, 💡: 3}"'],
    ['"%x %X %b %o".format([-255, "ÿ", -2, 8u])', '"-ff C3BF -10 10"'],
    ['"%%%s%%".format(["%s"])', '"%%s%"'],
    ['"%".format([1])', 'error'],
    ['"%.2".format([1])', 'error'],
    ['"%.101f".format([1.0])', 'error'],
    ['"%s".format([])', 'error'],
    ['"%q".format([1])', 'error'],
    ['"%d".format(["1"])', 'error'],
  ])('numbers are formatted independently of the locale: %s is %s', (source, expected) => {
    expect(evaluatedJson(source)).toBe(expected);
  });

  test.each([
    ['dyn(9007199254740993) == 9007199254740992.0', 'true'],
    ['dyn(9007199254740993) <= 9007199254740992.0', 'true'],
    ['dyn(9007199254740993) > 9007199254740992.0', 'false'],
    ['9007199254740992.0 in [9007199254740993]', 'true'],
    ['[dyn(9007199254740993)] == [9007199254740992.0]', 'true'],
    ['dyn(9007199254740993) == 9007199254740992', 'false'],
    ['dyn(18446744073709551615u) == 18446744073709551616.0', 'true'],
    ['dyn(18446744073709551615u) == -1', 'false'],
    ['0.0 / 0.0 == 0.0 / 0.0', 'false'],
    ['18446744073709551615u / 1u', '18446744073709551615'],
    ['1u / 0u', 'error'],
    ['-9223372036854775808 % -1', 'error'],
    ['5 % 0', 'error'],
    ['-7 % 3', '-1'],
    ['int("+7")', '7'],
    ['int("007")', '7'],
    ['int("")', 'error'],
    ['int("1_000")', 'error'],
    ['uint("-0")', 'error'],
    ['uint("18446744073709551615")', '18446744073709551615'],
    ['double("1e400")', 'error'],
    ['double("-1e400")', 'error'],
    ['double("1e-400")', '0'],
    ['double("iNFinity") > 1.0 && double("-inf") < 1.0 && double("nan") != 1.0', 'true'],
    ['double("-nan")', 'error'],
    ['double("__proto__")', 'error'],
    ['double("constructor")', 'error'],
    ['bool("T") && !bool("F")', 'true'],
    ['bool("yes")', 'error'],
    ['dyn(null) in {"a": 1} || dyn([1]) in {"a": 1}', 'false'],
    ['{1: "a", "1": "b"}', 'error'],
    ['{true: "a", "true": "b"}', 'error'],
    ['{1: "a", "2": "b"}', '{"1":"a","2":"b"}'],
    ['[{1u: "a", "1": "b"}]', 'error'],
    ['{1: "a", "1": "b"}["1"]', '"b"'],
  ])('%s is %s', (source, expected) => {
    expect(evaluatedJson(source)).toBe(expected);
  });

  describe('the calendar depends on the argument, not on the time zone of the process:', () => {
    const before = process.env['TZ'];
    afterAll(() => {
      if (before === undefined) delete process.env['TZ'];
      else process.env['TZ'] = before;
    });

    test.each([
      // The clocks in New York skip 02:00 to 03:00.
      ['timestamp("2024-03-10T02:30:00Z").getHours()', '2'],
      ['timestamp("2024-03-10T02:30:00Z").getHours("UTC")', '2'],
      ['timestamp("2024-03-10T01:30:00Z").getHours("+01:00")', '2'],
      ['timestamp("2024-03-10T01:30:00Z").getHours("Europe/Berlin")', '2'],
      ['timestamp("2024-07-01T23:30:00Z").getHours("Europe/Berlin")', '1'],
      ['timestamp("2024-07-01T23:30:00Z").getDate("Europe/Berlin")', '2'],
      ['timestamp("2024-07-01T23:30:00Z").getDayOfMonth("Europe/Berlin")', '1'],
      ['timestamp("2024-12-31T12:00:00Z").getDayOfYear()', '365'],
      ['timestamp("2024-12-31T20:00:00Z").getDayOfYear("Asia/Kathmandu")', '0'],
      ['timestamp("2024-12-31T20:00:00Z").getFullYear("Asia/Kathmandu")', '2025'],
      ['timestamp("2024-12-31T20:00:00Z").getMinutes("Asia/Kathmandu")', '45'],
      ['timestamp("2024-03-10T02:30:05.678Z").getMilliseconds("-07:30")', '678'],
      ['timestamp("0001-01-01T00:00:00Z").getFullYear("America/New_York")', '0'],
      ['timestamp("0050-03-01T00:00:00Z").getDayOfYear()', '59'],
      ['timestamp("2024-03-10T02:30:00Z").getDayOfWeek()', '0'],
      ['timestamp("2024-03-10T02:30:00Z").getMonth()', '2'],
      ['timestamp("2024-03-10T02:30:00Z").getHours("")', 'refused'],
      ['timestamp("2024-03-10T02:30:00Z").getHours("Local")', 'refused'],
      ['timestamp("2024-03-10T02:30:00Z").getHours("+0100")', 'refused'],
      ['timestamp("2024-03-10T02:30:00Z").getHours("+24:00")', 'refused'],
      ['timestamp("2024-03-10T02:30:00Z").getHours("constructor")', 'refused'],
    ])('%s is %s', (source, expected) => {
      for (const zone of ['UTC', 'America/New_York', 'Asia/Kathmandu']) {
        process.env['TZ'] = zone;
        expect(evaluatedJson(source)).toBe(expected);
      }
    });
  });
});
