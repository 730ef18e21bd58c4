"""Elastic joints of a run as it starts."""

from __future__ import annotations

import mujoco
import numpy as np

from palpate.errors import InvalidInput
from palpate.run.run import Run
from palpate.world.plants.elastic.motors import ElasticJoints
from palpate.world.plants.elastic.steps import elastic_joints
from palpate.world.plants.plant import Plant


def elastic_joints_of(run: Run, plant: Plant, data: mujoco.MjData) -> ElasticJoints:
    """Motors and springs of a run: at its start, with the links held against their weight.

    The engine's model then counts sliding motors as part of the links; equations must have read it before.
    """
    facts = run.world.driver.facts_for(run.robot)
    if plant.elastic is None:
        return elastic_joints(None, plant.model, run.world, facts, (np.zeros(0), np.zeros(0), np.zeros(0)))
    _refuse_other_integrators(run)
    scratch = mujoco.MjData(plant.model)
    scratch.qpos[:] = data.qpos
    mujoco.mj_forward(plant.model, scratch)
    held = scratch.qfrc_bias - scratch.qfrc_passive
    return elastic_joints(plant.elastic, plant.model, run.world, facts, (data.qpos.copy(), data.qvel.copy(), held))


def _refuse_other_integrators(run: Run) -> None:
    if run.clock.integrator != "euler":
        raise InvalidInput(
            f'integrator = "{run.clock.integrator}" does not take elastic joints',
            hint='integrator = "euler" keeps their frequencies and damping; shorten run.timestep for the rest',
        )
