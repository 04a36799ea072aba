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
 * A page that goes on to a path of ours by itself. Not a redirect: a browser counts that as part of the way from the other site, and keeps
 * cookies with SameSite=Strict back (RFC 6265bis §5.2). From this page it starts anew.
 */
export const onwardPage = (path: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Standin</title><meta http-equiv="refresh" content="0; url=${escape(path)}"><p><a href="${escape(path)}">Continue</a></p></html>\n`;

export const sendOnward = (response: Response, path: string): void => {
  response.type('html').send(onwardPage(path));
};
