#!/usr/bin/env node
import { checkNode } from './check-node.js';

checkNode('standin');
await import('../dist/standin.js');
