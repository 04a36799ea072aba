import type { Response } from 'express';

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (char) => ESCAPES[char] ?? char);

/**
 * A page that continues to a path of the dashboard by itself. Not a redirect: a browser treats a redirect as part of the navigation from the other
 * site, and withholds cookies with SameSite=Strict (RFC 6265bis section 5.2). A navigation from this page is a new one.
 */
export const onwardPage = (path: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Standin</title><meta http-equiv="refresh" content="0; url=${escape(path)}"><p><a href="${escape(path)}">Continue</a></p></html>\n`;

export const sendOnward = (response: Response, path: string): void => {
  response.type('html').send(onwardPage(path));
};
