import type { EngineAddress } from '@standin/engine';

/** Resolves with ClickHouse's response to a statement, trimmed. Rejects with its error message. */
export type Query = (sql: string) => Promise<string>;

export const queryOf =
  ({ url, username, password }: EngineAddress): Query =>
  async (sql) => {
    const headers = { 'X-ClickHouse-User': username, 'X-ClickHouse-Key': password };
    const response = await fetch(`${url}/?database=standin`, { method: 'POST', headers, body: sql });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return text.trim();
  };
