"""Loads and configures the controller @NAME@ in a running controller_manager, and activates it: it holds where it is.

ros2 launch @NAME@_controller @NAME@.launch.py
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    default = PathJoinSubstitution([FindPackageShare("@NAME@_controller"), "config", "@NAME@_controllers.yaml"])
    manager, parameters = LaunchConfiguration("controller_manager"), LaunchConfiguration("parameters")
    words = ["@NAME@_controller", "--controller-manager", manager, "--param-file", parameters]
    return LaunchDescription(
        [
            DeclareLaunchArgument("controller_manager", default_value="/controller_manager"),
            DeclareLaunchArgument("parameters", default_value=default),
            Node(package="controller_manager", executable="spawner", arguments=words, output="screen"),
        ]
    )
