import type { Command } from 'commander';

/** Stands for the id of any captured request. */
export const EXAMPLE_ID = '01a1fde9-a649-71f0-95e5-86f94baaeb30';

/** What a command line does, and the command line without the name of the program. */
export type Example = readonly [purpose: string, line: string];

/** Adds examples to the end of a command's help. */
export const withExamples = (command: Command, ...examples: readonly Example[]): Command =>
  command.addHelpText('after', () => {
    const program = rootCommand(command).name();
    const lines = examples.flatMap(([purpose, line]) => [`  # ${purpose}`, `  ${program} ${line}`]);
    return ['', 'Examples:', ...lines].join('\n');
  });

const rootCommand = (command: Command): Command => (command.parent === null ? command : rootCommand(command.parent));
