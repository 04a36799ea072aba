/** Resolves with what ClickHouse answers to a statement, trimmed; rejects with its words. */
export type Query = (sql: string) => Promise<string>;

export const queryOf =
  (url: string): Query =>
  async (sql) => {
    const response = await fetch(`${url}/?database=standin`, { method: 'POST', body: sql });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return text.trim();
  };
