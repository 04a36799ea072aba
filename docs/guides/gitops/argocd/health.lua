-- Health of every kind of standin.dev, for Argo CD, from the conditions that docs/reference/conditions.md explains.
-- Without it Argo CD takes each object for healthy, whatever it says. health_test.yaml has the cases.

local function health(status, message)
  return { status = status, message = message }
end

if obj.status == nil or obj.status.conditions == nil then
  return health("Progressing", "Waiting for the operator")
end
-- The conditions are about an earlier edit.
if obj.status.observedGeneration ~= nil and obj.status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "Waiting for the operator to see the last change")
end

local conditions = {}
for _, condition in ipairs(obj.status.conditions) do
  conditions[condition.type] = condition
end

-- Only a change helps.
local stalled = conditions["Stalled"]
if stalled ~= nil and stalled.status == "True" then
  return health("Degraded", stalled.message)
end
for _, name in ipairs({ "Accepted", "ResolvedRefs" }) do
  local condition = conditions[name]
  if condition ~= nil and condition.status == "False" then
    return health("Degraded", condition.message)
  end
end

-- Of a Replay, KeyRegeneration, Purge or Expectation.
local progress = conditions["Reconciling"] or conditions["Failed"] or conditions["Complete"] or conditions["Met"]
if progress ~= nil then
  if progress.reason == "Failed" then
    return health("Degraded", progress.message)
  elseif progress.reason == "Suspended" then
    return health("Suspended", progress.message)
  elseif progress.type == "Reconciling" then
    return health("Progressing", progress.message)
  end
  return health("Healthy", progress.message)
end

-- Of an Account, Project, Endpoint or Share.
local ready = conditions["Ready"]
if ready ~= nil and ready.status == "True" then
  return health("Healthy", ready.message)
end
return health("Progressing", ready ~= nil and ready.message or "Waiting for the operator")
