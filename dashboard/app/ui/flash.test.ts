import { describe, expect, test } from 'vitest';
import { noticeCookie, readNotice } from './flash.ts';

const PAGE = '/p/default/shop/settings';
const cookies = (notice: string): string => `theme=dark; ${noticeCookie(PAGE, notice).split(';')[0] ?? ''}; other=1`;

describe('a notice', () => {
  test.each(['Saved.', 'Endpoint a; b = “c” was deleted.', '100 %', ''])('is read as it was written: %s', (notice) => {
    expect(readNotice(cookies(notice), PAGE)).toBe(notice);
  });

  test('is for its page and the pages below it, to which its page may redirect', () => {
    const pages = [PAGE, `${PAGE}/shares`, `${PAGE}-2`, '/p/default/shop', '/p/default/other/settings', '/'];
    expect(pages.map((page) => readNotice(cookies('Saved.'), page))).toEqual([
      ...['Saved.', 'Saved.'],
      ...[undefined, undefined, undefined, undefined],
    ]);
  });

  test('is absent without a valid cookie', () => {
    for (const value of [null, '', 'a=b', 'standin-notice=', 'standin-notice=%', `standin-notice=${PAGE}`])
      expect(readNotice(value, PAGE)).toBeUndefined();
  });

  test('fits into a cookie', () => {
    expect(noticeCookie(PAGE, '–'.repeat(10_000)).length).toBeLessThan(4_096);
  });
});
