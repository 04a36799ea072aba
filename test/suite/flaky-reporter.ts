import type { Reporter, TestModule } from 'vitest/node';

/**
 * Names the tests that passed only when they were tried again: on a busy machine a test of several processes may fail once, and
 * nobody would hear of it.
 */
class FlakyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const flaky = modules.flatMap((module) =>
      [...module.children.allTests('passed')].filter((test) => test.diagnostic()?.flaky === true),
    );
    for (const test of flaky)
      console.log(`passed only when tried again: ${test.module.relativeModuleId} > ${test.fullName}`);
  }
}
// vitest loads a reporter by its default export.
export default FlakyReporter;
