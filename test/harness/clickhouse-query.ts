import type { EngineAddress } from '@standin/engine';

/** Runs a statement and returns ClickHouse's response, trimmed. Rejects with the statement and ClickHouse's error message. */
export type Query = (sql: string, params?: Readonly<Record<string, string | number>>) => Promise<string>;

/** Runs statements over HTTP, without the log store. */
export const clickHouseQuery =
  ({ url, username, password, database = 'standin' }: EngineAddress & { readonly database?: string }): Query =>
  async (sql, params = {}) => {
    const address = new URL(url);
    address.searchParams.set('database', database);
    for (const [name, value] of Object.entries(params)) address.searchParams.set(`param_${name}`, String(value));
    const headers = { 'X-ClickHouse-User': username, 'X-ClickHouse-Key': password };
    const response = await fetch(address, { method: 'POST', headers, body: sql });
    const text = await response.text();
    if (!response.ok) throw new Error(`${sql}\n${text}`);
    return text.trim();
  };
