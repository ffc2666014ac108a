#!/bin/sh
# One member of the team. A real member is an agent; this one shows what each is given, and what it can do.
echo "I am $AGENT_ID, a $AGENT_TYPE; I can: $AGENT_CAPABILITIES"
case $AGENT_TYPE in
  coordinator) cru work submit greet "write the greeting" --task-id greeting ;;
  worker)
    cru work claim --task-types greet --wait 60
    cru locks acquire greeting.txt --reason "writing the greeting"
    echo "hello" > greeting.txt
    cru work complete greeting
    ;;
esac
