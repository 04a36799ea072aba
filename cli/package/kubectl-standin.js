#!/usr/bin/env node
import { checkNode } from './check-node.js';

checkNode('kubectl standin');
const { runPlugin } = await import('../dist/kubectl-standin.js');
await runPlugin();
