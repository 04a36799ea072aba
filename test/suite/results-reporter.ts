import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';
import { RESULTS_FILE, type FileResult, type Results } from './results.ts';

/** Writes the results of a run as JSON, for `npm test` and `npm run times`. vitest's own report has neither hooks nor CPU times. */
export default class ResultsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const results: Results = { files: modules.map(fileResult) };
    writeFileSync(RESULTS_FILE, JSON.stringify(results));
  }
}

const fileResult = (module: TestModule): FileResult => {
  const { prepareDuration, setupDuration, collectDuration, duration } = module.diagnostic();
  const { cpuSeconds } = module.meta();
  return {
    file: module.relativeModuleId,
    project: module.project.name,
    // A file is still pending if its worker crashed.
    hasFailed: !['passed', 'skipped'].includes(module.state()),
    seconds: (prepareDuration + setupDuration + collectDuration + duration) / 1000,
    ...(cpuSeconds === undefined ? {} : { cpuSeconds }),
    tests: [...module.children.allTests()].map((test) => {
      const { state, errors = [] } = test.result();
      return {
        name: test.fullName,
        state,
        retries: test.diagnostic()?.retryCount ?? 0,
        errors: errors.map(({ message }) => message),
      };
    }),
  };
};
