import path from 'node:path';
import type { LogEntry } from '@standin/exchange';
import { BudgetExhausted } from '@standin/responses';
import { Contract } from '../openapi/contract.ts';
import { ContractError } from '../openapi/contract-files.ts';
import { checkRequest, checkResponse, UncheckedBody, type ContractChange } from '../openapi/exchange-check.ts';
import { PlainError } from '../plain-error.ts';
import { different, skipped, whyIncomplete, type Comparison } from './compare-response.ts';
import type { Ignored } from './ignored.ts';
import type { CaseKey, ReportBuilder } from './report.ts';

const WARNINGS_MAX = 100;

/** Checks captured requests and responses with the operations of a contract. */
export class ContractComparison {
  readonly #name: string;
  readonly #contract: Contract;
  readonly #ignored: Ignored;
  /** Parts of the contract that could not be checked. */
  readonly #warnings = new Set<string>();

  /** Throws a `PlainError` if the contract cannot be read. */
  constructor(file: string, ignored: Ignored) {
    this.#name = path.basename(file);
    this.#ignored = ignored;
    try {
      this.#contract = new Contract(file, (message) => this.#warn(message));
    } catch (error) {
      if (!(error instanceof ContractError)) throw error;
      throw new PlainError(error.message, { cause: error });
    }
  }

  add(entry: LogEntry, report: ReportBuilder): void {
    const found = this.#contract.find(entry.method, entry.path);
    if (found.kind === 'none') {
      report.add(entry, different([`request ${found.reason}`]), { key: this.#key('not in the contract') });
      return;
    }
    const key = this.#key(found.operation.name);
    const incomplete = whyIncomplete(entry);
    const changes: string[] = [];
    const note = (change: ContractChange): void => {
      if (!this.#isIgnored(change)) changes.push(change.message);
    };
    const check = (part: () => void): Comparison | undefined => {
      try {
        part();
        return undefined;
      } catch (error) {
        return this.#asSkipped(error);
      }
    };
    const why = [
      check(() => checkRequest(this.#contract, found, { entry, note })),
      incomplete === 'unanswered'
        ? skipped(incomplete)
        : check(() => {
            const hasBody = incomplete === undefined;
            checkResponse(this.#contract, found.operation, { entry, note, hasBody });
          }),
      ...(incomplete === 'truncated' ? [skipped(incomplete)] : []),
    ].find((one) => one !== undefined);
    report.add(entry, changes.length > 0 ? different(changes) : (why ?? { kind: 'same' }), { key });
  }

  /** Adds the operations without requests to the report. Returns warnings. */
  finish(report: ReportBuilder): readonly string[] {
    for (const { name } of this.#contract.operations) report.expect(this.#key(name));
    return [...this.#warnings].map((warning) => `standin: ${warning}`);
  }

  #key(operation: string): CaseKey {
    return { contract: this.#name, operation };
  }

  #isIgnored({ direction, path: at, header }: ContractChange): boolean {
    if (at !== undefined) return this.#ignored.path(at);
    return header !== undefined && direction === 'response' && this.#ignored.header(header);
  }

  #asSkipped(error: unknown): Comparison {
    if (error instanceof UncheckedBody) return skipped(error.reason);
    if (error instanceof BudgetExhausted) return skipped('tooComplex');
    if (!(error instanceof ContractError)) throw error;
    this.#warn(error.message);
    return skipped('contract');
  }

  #warn(message: string): void {
    if (this.#warnings.size < WARNINGS_MAX) this.#warnings.add(message);
  }
}
